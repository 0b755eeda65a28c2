//! Directives that are a word and a few loosely typed arguments (PTX ISA §11).

use super::ast::{Directive, DirectiveArgument};
use super::complain;
use super::declaration::word_name;
use super::expr::{offset, signed_number};
use super::operand::name;
use super::token::{Kind, PResult, Tokens};

/// Whether `word` ends at a `;`; the others end where their arguments do.
pub(super) fn takes_semicolon(word: &str) -> bool {
    matches!(word, ".pragma" | ".alias")
}

/// What the first argument must be.
enum First {
    Nothing,
    Number,
    String,
    Name,
}

/// Whether the directive stands between a function's header and its `{`.
pub(super) fn belongs_to_header(word: &str) -> bool {
    matches!(
        word,
        ".maxnreg"
            | ".maxntid"
            | ".reqntid"
            | ".minnctapersm"
            | ".maxnctapersm"
            | ".noreturn"
            | ".reqnctapercluster"
            | ".explicitcluster"
            | ".maxclusterrank"
            | ".blocksareclusters"
            | ".minperctamemory"
            | ".abi_preserve"
            | ".abi_preserve_control"
            | ".language"
    )
}

/// What `word` begins with, and how many arguments it needs at least.
fn shape(word: &str) -> (First, usize) {
    match word {
        ".loc" | ".loc_intermediate" => (First::Number, 3),
        ".file" => (First::Number, 2),
        ".pragma" | ".language" => (First::String, 1),
        ".alias" => (First::Name, 2),
        ".maxnreg"
        | ".maxntid"
        | ".reqntid"
        | ".minnctapersm"
        | ".maxnctapersm"
        | ".reqnctapercluster"
        | ".maxclusterrank"
        | ".minperctamemory"
        | ".abi_preserve"
        | ".abi_preserve_control" => (First::Number, 1),
        _ => (First::Nothing, 0),
    }
}

/// A directive without its `;`.
pub(super) fn directive(input: Tokens<'_>) -> PResult<'_, Directive> {
    let word = input.peek();
    let text = input.slice(word.span());
    let Some(name) = word_name(word) else {
        return Err(complain::unexpected(input, "a directive"));
    };
    let (first, least) = shape(text);
    let (rest, arguments) = arguments(input.advance(), matches!(first, First::Name))?;
    let fits = match first {
        First::Nothing => true,
        First::Number => matches!(arguments.first(), Some(DirectiveArgument::Const(_))),
        First::String => matches!(arguments.first(), Some(DirectiveArgument::String(_))),
        First::Name => matches!(arguments.first(), Some(DirectiveArgument::Name(_))),
    };
    if !fits || arguments.len() < least {
        let place = if arguments.is_empty() || fits { rest } else { input.advance() };
        return Err(complain::unexpected(place, expected(text)));
    }
    let count = input.tokens.len() - rest.tokens.len();
    let span = word.span().to(input.peek_at(count - 1).span());
    Ok((rest, Directive { span, name, arguments }))
}

fn expected(word: &str) -> &'static str {
    match word {
        ".loc" | ".loc_intermediate" => "a file's index, a line and a column",
        ".file" => "an index and a name, as in `.file 1 \"a.cu\"`",
        ".pragma" => "a string, as in `.pragma \"nounroll\";`",
        ".language" => "a string, as in `.language \"cuda c++\", 4`",
        ".alias" => "two names, as in `.alias a, b;`",
        _ => "a number",
    }
}

fn arguments(input: Tokens<'_>, begins_with_name: bool) -> PResult<'_, Vec<DirectiveArgument>> {
    let mut arguments = Vec::new();
    let mut rest = input;
    let mut name_allowed = begins_with_name;
    loop {
        let (behind, argument) = match rest.kind() {
            Kind::Int | Kind::Float | Kind::Minus | Kind::BadNumber | Kind::F32 | Kind::F64 => {
                let (behind, constant) =
                    signed_number(rest).map_err(|_| complain::unexpected(rest.advance(), "a number"))?;
                (behind, DirectiveArgument::Const(constant))
            }
            Kind::String => (rest.advance(), DirectiveArgument::String(rest.peek().span())),
            Kind::Ident if name_allowed => {
                let (behind, name) = name(rest)?;
                (behind, DirectiveArgument::Name(name))
            }
            Kind::Plus if matches!(arguments.last(), Some(DirectiveArgument::Name(_))) => {
                let (behind, constant) = offset(rest)?;
                (behind, DirectiveArgument::Const(constant))
            }
            _ => return Ok((rest, arguments)),
        };
        arguments.push(argument);
        // `, function_name label`: a name follows a name only here.
        name_allowed = behind.kind() == Kind::Comma || rest.text() == "function_name";
        rest = behind;
        if behind.kind() == Kind::Comma {
            rest = behind.advance();
            if !matches!(rest.kind(), Kind::Int | Kind::Minus | Kind::String | Kind::Ident) {
                return Err(complain::unexpected(rest, "another argument behind the `,`"));
            }
        }
    }
}
