//! Which formats there are.

use super::Stop;
use super::builder::{Shape, Start};
use super::format::{Format, Opening, Reader};
use super::records::{Head, Layout};

type Open = fn(&Opening<'_>) -> Result<(Box<dyn Reader>, Start), Stop>;

/// What a format has without a source.
pub(super) struct Statics {
    /// [`Format::SHAPE`].
    pub shape: Shape,
    /// [`Format::HAS_SESSIONS`].
    pub has_sessions: bool,
    /// [`Format::layout`].
    pub layout: fn(&Head<'_>) -> Layout,
    /// [`Format::open`].
    pub open: Open,
}

impl Statics {
    fn of<F: Format + 'static>() -> Self {
        let open = |opening: &Opening<'_>| {
            let (reader, start) = F::open(opening)?;
            Ok((Box::new(reader) as Box<dyn Reader>, start))
        };
        Statics { shape: F::SHAPE, has_sessions: F::HAS_SESSIONS, layout: F::layout, open }
    }
}

/// Lists the formats in the order in which they are asked whether they claim a source.
macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident = $type:ty),* $(,)?) => {
        /// A format of foreign sessions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ForeignFormat { $($(#[$doc])* $name),* }

        impl ForeignFormat {
            /// All formats.
            pub const ALL: &'static [Self] = &[$(ForeignFormat::$name),*];

            /// The format of a source with this beginning.
            pub(super) fn of(head: &Head<'_>) -> Option<Self> {
                $(if <$type>::claims(head) { return Some(ForeignFormat::$name); })*
                None
            }

            /// Its name, as users see it.
            pub fn as_str(self) -> &'static str {
                match self { $(ForeignFormat::$name => <$type>::NAME),* }
            }

            /// What it has without a source.
            pub(super) fn statics(self) -> Statics {
                match self { $(ForeignFormat::$name => Statics::of::<$type>()),* }
            }
        }
    };
}

formats! {
    /// ATIF, the interchange format of agents' trajectories.
    Atif = crate::foreign::atif::Atif,
    /// OpenCode.
    OpenCode = crate::foreign::opencode::OpenCode,
    /// Gemini CLI.
    Gemini = crate::foreign::gemini::Gemini,
    /// Codex.
    Codex = crate::foreign::codex::Codex,
    /// pi, openclaw, omp.
    Pi = crate::foreign::pi::Pi,
    /// Qwen Code.
    Qwen = crate::foreign::qwen::Qwen,
    /// Claude Code.
    Claude = crate::foreign::claude::Claude,
    /// Cursor.
    Cursor = crate::foreign::cursor::Cursor,
}
