//! The generator behind `random SEED` and random schedules: SplitMix64 (Steele, Lea, Flood 2014).

/// A generator. A seed means the same sequence for ever, on every platform: launches and reports name seeds.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit` (at least 1).
    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(limit.max(1))) >> 32) as u32
    }

    /// A number of [-1, 1), uniform among the multiples of 2^(1-`precision`), so that a type of that many
    /// significant bits holds it exactly.
    pub fn unit(&mut self, precision: u32) -> f64 {
        let half = (1u64 << (precision - 1)) as f64;
        ((self.bits() >> (64 - precision)) as f64 - half) / half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn units_lie_in_their_range() {
        let mut random = Random::new(7);
        let units: Vec<f64> = (0..10_000).map(|_| random.unit(11)).collect();
        assert!(units.iter().all(|u| (-1.0..1.0).contains(u) && (u * 1024.0).fract() == 0.0));
        assert!(units.iter().sum::<f64>().abs() < 200.0);
    }
}
