//! The rules that speak of an `asm` statement and not of PTX itself.

use crate::diagnostic::{Ptxas, Rule, Severity};

macro_rules! rules {
    ($($name:ident = $text:literal, $severity:ident, $ptxas:ident, $summary:literal;)*) => {
        $(pub(crate) static $name: Rule = Rule {
            name: $text,
            severity: Severity::$severity,
            ptxas: Ptxas::$ptxas,
            summary: $summary,
            page: include_str!(concat!($text, ".md")),
        };)*

        /// All of them.
        pub const RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    CONSTRAINT_MISMATCH = "constraint-mismatch", Error, Rejects,
        "a constraint of an `asm` operand that gives a register of another width than the instruction takes";
    FIXED_LABEL = "fixed-label", Warning, Accepts,
        "a label of an `asm` statement that stands outside of braces, so that a second copy declares it again";
    MISSING_MEMORY_CLOBBER = "missing-memory-clobber", Warning, Accepts,
        "an `asm` statement that waits, arrives, copies or fences, without a `\"memory\"` clobber";
    MISSING_SEPARATOR = "missing-separator", Error, Rejects,
        "two string literals whose instructions run into each other without a `;`";
    NO_COMMON_TARGET = "no-common-target", Error, Rejects,
        "instructions that no target has together";
    NO_SUCH_OPERAND = "no-such-operand", Error, Rejects,
        "an operand number beyond the operands of the `asm` statement";
    NOT_VOLATILE = "not-volatile", Warning, Accepts,
        "an `asm` statement that does more than compute its outputs, without `volatile`";
    UNBALANCED_SCOPE = "unbalanced-scope", Error, Rejects,
        "an `asm` statement with `{` or `}` whose partner is nowhere in the file";
    UNEXPANDED_ESCAPE = "unexpanded-escape", Error, Rejects,
        "`%%` or `%=` in an `asm` statement without operands, where the compiler leaves them as they are";
    UNSCOPED_REGISTER = "unscoped-register", Warning, Accepts,
        "a register of an `asm` statement that is declared outside of braces, so that a second copy declares it again";
    UNWRITTEN_OUTPUT = "unwritten-output", Warning, Accepts,
        "an output of an `asm` statement that no instruction writes";
    WRITTEN_INPUT = "written-input", Warning, Accepts,
        "an input of an `asm` statement that an instruction writes";
}
