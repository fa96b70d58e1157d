//! Completion for shells, out of the table of options.

use super::option::{Effect, Kind, Opt};
use super::table;

const NOTE: &str = "# Generated from the table of options in src/config/table/; a test compares it.\n";
/// First words that are no option.
const WORDS: [&str; 5] = ["check", "salvage", "ping", "--help", "--version"];

/// What may follow an option, where it is one of a few words.
fn words(option: &Opt) -> Option<Vec<&'static str>> {
    if let Effect::Only { values, .. } = option.effect {
        return Some(values.iter().copied().filter(|value| !value.is_empty()).collect());
    }
    match option.kind {
        Kind::Bool => Some(vec!["yes", "no"]),
        Kind::Choice(names) | Kind::Choices(names) => Some(names.to_vec()),
        _ => None,
    }
}

fn names() -> Vec<String> {
    table::options().map(|option| format!("--{}", option.name)).collect()
}

/// packaging/completions/tarn.bash.
pub fn bash() -> String {
    let mut cases = String::new();
    for option in table::options() {
        if let Some(words) = words(option) {
            cases.push_str(&format!("    --{}) words=\"{}\" ;;\n", option.name, words.join(" ")));
        }
    }
    format!(
        "{NOTE}_tarn() {{\n\
         \x20   local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} words=\n\
         \x20   case $previous in\n{cases}\
         \x20   --*) mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n\
         \x20   esac\n\
         \x20   if [ -z \"$words\" ]; then\n\
         \x20       case $current in\n\
         \x20       -*) words=\"{}\" ;;\n\
         \x20       *) mapfile -t COMPREPLY < <(compgen -W \"check salvage ping\" -f -- \"$current\"); return ;;\n\
         \x20       esac\n\
         \x20   fi\n\
         \x20   mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n\
         }}\n\
         complete -o filenames -F _tarn tarn\n",
        WORDS
            .iter()
            .copied()
            .filter(|word| word.starts_with('-'))
            .map(str::to_owned)
            .chain(names())
            .collect::<Vec<_>>()
            .join(" ")
    )
}

/// packaging/completions/_tarn, for zsh.
pub fn zsh() -> String {
    let mut lines = String::new();
    for option in table::options() {
        let values = match words(option) {
            Some(words) => format!("value:({})", words.join(" ")),
            None => "value:_files".into(),
        };
        lines.push_str(&format!("    '--{}[{}]:{values}' \\\n", option.name, quoted(option)));
    }
    format!(
        "#compdef tarn\n{NOTE}_arguments \\\n    '1::file or command:_files -W . -g \"*.conf\"' \\\n{lines}    '--help[shows how to start it]' \\\n    '--version[shows the version]'\n"
    )
}

/// packaging/completions/tarn.fish.
pub fn fish() -> String {
    let mut lines = format!("{NOTE}complete -c tarn -n __fish_is_first_arg -a 'check salvage ping'\n");
    for option in table::options() {
        let values = words(option).map(|words| format!(" -f -a '{}'", words.join(" "))).unwrap_or_default();
        lines.push_str(&format!("complete -c tarn -l {} -r{values} -d '{}'\n", option.name, quoted(option)));
    }
    lines
}

/// The first sentence, without what the shells would take for their own.
fn quoted(option: &Opt) -> String {
    let sentence = option.help.split_inclusive(". ").next().unwrap_or_default().trim_end_matches([' ', '.']);
    let short = if sentence.is_empty() { "no effect" } else { sentence };
    short.replace(['\'', '`', '[', ']', ':', '\\', '$'], "")
}
