//! What every part of the program has to say about a source file, in a form that knows nothing of
//! how it is shown.

use crate::source::Span;

/// How bad it is (DESIGN: three severities).
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Advice.
    Note,
    /// Undefined or wrong on some path or input, or legal and almost surely a mistake.
    Warning,
    /// The assembler rejects it, or every execution that reaches it is undefined.
    Error,
}

impl Severity {
    /// The word used in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// How NVIDIA's assembler stands to a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Ptxas {
    /// `ptxas` refuses (or, for warnings, reports) the same thing.
    Rejects,
    /// `ptxas` accepts it in silence.
    Accepts,
}

impl Ptxas {
    /// The word used in every output format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Ptxas::Rejects => "rejects",
            Ptxas::Accepts => "accepts",
        }
    }
}

/// The identity of a rule. One static value a rule; compared by name.
#[derive(Debug)]
pub struct Rule {
    /// Kebab-case name that reads after "allow …": it describes the problem, never the cure.
    pub name: &'static str,
    /// The severity it usually has (single findings may differ: an alignment that is surely wrong
    /// is an error, one that may be wrong a warning).
    pub severity: Severity,
    /// How the vendor's assembler stands to it.
    pub ptxas: Ptxas,
    /// One line for lists.
    pub summary: &'static str,
    /// The rule's page in Markdown: what is wrong, why, what to write instead, with examples that
    /// are run as tests.
    pub page: &'static str,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Rule {}

/// A second place that belongs to a finding, with what is to be said about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What, in a few words.
    pub message: String,
}

/// Whether a fix may be applied without a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applicability {
    /// Keeps or restores the meaning.
    Safe,
    /// Probably right; a person should look.
    Unsafe,
}

/// One replacement of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The text to replace (empty: insert).
    pub span: Span,
    /// The new text.
    pub replacement: String,
}

/// A change that would resolve the finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// What it does, as an imperative ("write `_` for the unused state").
    pub title: String,
    /// May it be applied unseen?
    pub applicability: Applicability,
    /// The replacements, in order and without overlap.
    pub edits: Vec<Edit>,
}

/// One finding.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    /// Which rule speaks.
    pub rule: &'static Rule,
    /// How bad it is here.
    pub severity: Severity,
    /// How the vendor's assembler stands to this very finding.
    pub ptxas: Ptxas,
    /// The headline: what is wrong, in the user's own words.
    pub message: String,
    /// The place the headline is about.
    pub span: Span,
    /// What to write at the place itself (may be empty).
    pub label: String,
    /// Further places.
    pub labels: Vec<Label>,
    /// Why it is wrong.
    pub notes: Vec<String>,
    /// What to write instead.
    pub helps: Vec<String>,
    /// The same as edits, where one is certain.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// A finding of `rule` at `span` with the rule's own severity.
    pub fn new(rule: &'static Rule, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            rule,
            severity: rule.severity,
            ptxas: rule.ptxas,
            message: message.into(),
            span,
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
            fixes: Vec::new(),
        }
    }

    /// Sets the severity of this finding.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets how the vendor's assembler stands to this finding.
    pub fn ptxas(mut self, ptxas: Ptxas) -> Self {
        self.ptxas = ptxas;
        self
    }

    /// Sets the text beside the place itself.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    /// Adds a further place.
    pub fn also(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Adds a reason.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds an advice.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(text.into());
        self
    }

    /// Adds a fix that replaces `span` by `replacement`, and says so as a help as well.
    pub fn fix(
        self,
        applicability: Applicability,
        title: impl Into<String>,
        span: Span,
        replacement: impl Into<String>,
    ) -> Self {
        self.fix_all(applicability, title, vec![Edit { span, replacement: replacement.into() }])
    }

    /// Adds a fix of several edits (in order and without overlap), and says so as a help as well.
    pub fn fix_all(
        mut self,
        applicability: Applicability,
        title: impl Into<String>,
        edits: Vec<Edit>,
    ) -> Self {
        let title = title.into();
        self.helps.push(title.clone());
        self.fixes.push(Fix { title, applicability, edits });
        self
    }
}
