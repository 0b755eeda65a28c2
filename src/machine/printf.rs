//! The formats of `printf`, as a kernel's arguments hold them: packed at their alignment.

/// The text of `format`. `value` reads so many bytes of the arguments at an offset, `string` a string at an
/// address.
pub fn format(
    format: &str,
    value: &mut dyn FnMut(u64, usize) -> u64,
    string: &mut dyn FnMut(u64) -> String,
) -> String {
    let mut text = String::new();
    let mut rest = format;
    let mut offset = 0u64;
    let mut next = |size: u64| {
        let at = offset.next_multiple_of(size);
        offset = at + size;
        value(at, size as usize)
    };
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            text.push('%');
            rest = behind;
            continue;
        }
        let Some((spec, behind)) = Spec::read(rest, &mut next) else {
            text.push('%');
            continue;
        };
        rest = behind;
        let shown = match spec.conversion {
            's' => string(next(8)).chars().take(spec.precision.unwrap_or(usize::MAX)).collect(),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => spec.float(f64::from_bits(next(8))),
            'c' => char::from(next(4) as u8).to_string(),
            'p' => format!("{:#x}", next(8)),
            _ => spec.integer(next(spec.bytes)),
        };
        text.push_str(&spec.padded(shown));
    }
    text + rest
}

/// One conversion.
#[derive(Debug, Default)]
struct Spec {
    left: bool,
    zeros: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of an integer among the arguments.
    bytes: u64,
    /// So many bits of a 4-byte integer are shown.
    kept: u32,
    conversion: char,
}

/// No field is wider.
const MOST_WIDTH: u64 = 4096;

impl Spec {
    /// Reads what follows a percent sign, and the rest; `None` when that is no conversion.
    fn read<'a>(text: &'a str, next: &mut dyn FnMut(u64) -> u64) -> Option<(Spec, &'a str)> {
        let mut spec = Spec { bytes: 4, kept: 32, ..Spec::default() };
        let mut chars = text.chars().peekable();
        while let Some(&c) = chars.peek() {
            match c {
                '-' => spec.left = true,
                '0' => spec.zeros = true,
                '+' => spec.plus = true,
                ' ' => spec.blank = true,
                '#' => spec.alternate = true,
                _ => break,
            }
            chars.next();
        }
        let mut number = |chars: &mut std::iter::Peekable<std::str::Chars>| -> i64 {
            if chars.next_if_eq(&'*').is_some() {
                return i64::from(next(4) as i32);
            }
            let mut number = 0i64;
            while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                number = number.saturating_mul(10).saturating_add(digit.into());
                chars.next();
            }
            number
        };
        // A negative width counts from the left, a negative precision not at all.
        let width = number(&mut chars);
        spec.left |= width < 0;
        spec.width = width.unsigned_abs().min(MOST_WIDTH) as usize;
        if chars.next_if_eq(&'.').is_some() {
            let precision = u64::try_from(number(&mut chars)).ok();
            spec.precision = precision.map(|precision| precision.min(MOST_WIDTH) as usize);
        }
        while let Some(&c) = chars.peek() {
            match c {
                'l' | 'j' | 'z' | 't' => spec.bytes = 8,
                'h' => spec.kept = spec.kept.min(16) / if spec.kept < 32 { 2 } else { 1 },
                _ => break,
            }
            chars.next();
        }
        spec.conversion = chars.next().filter(|c| "diuoxXcsfFeEgGaAp".contains(*c))?;
        let rest: String = chars.collect();
        Some((spec, &text[text.len() - rest.len()..]))
    }

    fn signed(&self, negative: bool, digits: String) -> String {
        match negative {
            true => format!("-{digits}"),
            false if self.plus => format!("+{digits}"),
            false if self.blank => format!(" {digits}"),
            false => digits,
        }
    }

    fn integer(&self, bits: u64) -> String {
        let unused = if self.bytes == 8 { 0 } else { 64 - self.kept };
        let unsigned = bits << unused >> unused;
        let value = (bits << unused) as i64 >> unused;
        let digits = match self.conversion {
            'u' => unsigned.to_string(),
            'o' => format!("{unsigned:o}"),
            'x' => format!("{unsigned:x}"),
            'X' => format!("{unsigned:X}"),
            _ => value.unsigned_abs().to_string(),
        };
        let digits = format!("{digits:0>width$}", width = self.precision.unwrap_or(0));
        match self.conversion {
            'o' if self.alternate && !digits.starts_with('0') => format!("0{digits}"),
            'x' if self.alternate && unsigned != 0 => format!("0x{digits}"),
            'X' if self.alternate && unsigned != 0 => format!("0X{digits}"),
            'u' | 'x' | 'X' | 'o' => digits,
            _ => self.signed(value < 0, digits),
        }
    }

    fn float(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let size = value.abs();
        let lower = match self.conversion.to_ascii_lowercase() {
            _ if value.is_nan() => "nan".to_string(),
            _ if value.is_infinite() => "inf".to_string(),
            'e' => exponential(size, precision),
            'g' => general(size, precision.max(1), self.alternate),
            'a' => hexadecimal(size, self.precision),
            _ if self.alternate && precision == 0 => format!("{size:.0}."),
            _ => format!("{size:.precision$}"),
        };
        let text = if self.conversion.is_ascii_uppercase() { lower.to_uppercase() } else { lower };
        self.signed(value.is_sign_negative() && !value.is_nan(), text)
    }

    fn padded(&self, text: String) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        if self.left {
            return text + &" ".repeat(missing);
        }
        let numeric = !matches!(self.conversion, 's' | 'c' | 'p');
        let integer_with_precision = self.precision.is_some() && "diuoxX".contains(self.conversion);
        if self.zeros && numeric && !integer_with_precision {
            let sign = text.len() - text.trim_start_matches(['-', '+', ' ']).len();
            return format!("{}{}{}", &text[..sign], "0".repeat(missing), &text[sign..]);
        }
        " ".repeat(missing) + &text
    }
}

/// `1.500000e+00`
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `0x1.8p+0`
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = value.to_bits();
    let (field, mut fraction) = ((bits >> FRACTION) as i32, bits & ((1 << FRACTION) - 1));
    let exponent = if value == 0.0 { 0 } else { field.max(1) + f64::MIN_EXP - 2 };
    let digits = (FRACTION / 4) as usize;
    fraction |= u64::from(field != 0) << FRACTION;
    let kept = precision.unwrap_or(digits).min(digits);
    if kept < digits {
        // To the nearest, of two the even one.
        let step = 1u64 << (4 * (digits - kept));
        let rest = fraction % step;
        let up = rest > step / 2 || (rest == step / 2 && (fraction / step) % 2 == 1);
        fraction = fraction - rest + if up { step } else { 0 };
    }
    let text = format!("{:0digits$x}", fraction & ((1 << FRACTION) - 1));
    let text = match precision {
        Some(precision) => format!("{:0<precision$}", &text[..kept]),
        None => text.trim_end_matches('0').to_string(),
    };
    let point = if text.is_empty() { "" } else { "." };
    format!("0x{}{point}{text}p{exponent:+}", fraction >> FRACTION)
}

/// The shorter of the two ways, without trailing zeros.
fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let scientific = exponential(value, precision - 1);
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let plain = exponent >= -4 && exponent < precision as i32;
    let text = match plain {
        true => format!("{value:.decimals$}", decimals = (precision as i32 - 1 - exponent).max(0) as usize),
        false => scientific,
    };
    if keep_zeros || !text.contains('.') {
        return text;
    }
    let (digits, tail) =
        text.split_once('e').map_or((text.as_str(), String::new()), |(d, e)| (d, format!("e{e}")));
    format!("{}{tail}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::format;

    fn text(spec: &str, words: &[u64]) -> String {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut value = |offset: u64, size: usize| {
            let at = offset as usize;
            let mut word = [0; 8];
            word[..size].copy_from_slice(&bytes[at..at + size]);
            u64::from_le_bytes(word)
        };
        format(spec, &mut value, &mut |address| format!("<{address}>"))
    }

    #[test]
    fn formats_read_as_in_c() {
        assert_eq!(text("%d %u%%\n", &[0xffff_fff6_ffff_ffff]), "-1 4294967286%\n");
        assert_eq!(text("%5d|%-5d|%05d", &[0x0000_002a_ffff_ffd6, 7]), "  -42|42   |00007");
        assert_eq!(text("%lld %llx", &[u64::MAX, 255]), "-1 ff");
        assert_eq!(text("%d %s", &[3, 9]), "3 <9>");
        let bits = |value: f64| value.to_bits();
        assert_eq!(
            text("%f %.2e %g", &[bits(1.5), bits(-12345.678), bits(0.0001)]),
            "1.500000 -1.23e+04 0.0001"
        );
        assert_eq!(text("%g %G", &[bits(1e10), bits(f64::NAN)]), "1e+10 NAN");
        assert_eq!(text("%#x %08.3f %c", &[255, bits(-2.71459), 65]), "0xff -002.715 A");
        assert_eq!(text("%a %.1A|%a", &[bits(1.5), bits(-0.156), bits(0.0)]), "0x1.8p+0 -0X1.4P-3|0x0p+0");
        assert_eq!(text("%hd %hhu %#o %#.0f", &[0x0001_fffd_0001_fffd, 8, bits(3.0)]), "-3 253 010 3.");
        assert_eq!(text("%*d|", &[0x0000_0007_ffff_fffb]), "7    |");
        assert_eq!(text("100%", &[]), "100%");
    }
}
