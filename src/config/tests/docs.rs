use std::path::Path;
use std::process::Command;

use crate::config::load::Loader;
use crate::config::option::Section;
use crate::config::{bash, docs, fish, man, sample, table, zsh};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Run with TARN_REGENERATE_DOCS=1 to write the files.
#[test]
fn the_files_are_what_the_table_says() {
    for (path, text) in [
        ("docs/config.md", docs()),
        ("packaging/tarn.conf", sample()),
        ("packaging/tarn.1", man()),
        ("packaging/completions/tarn.bash", bash()),
        ("packaging/completions/_tarn", zsh()),
        ("packaging/completions/tarn.fish", fish()),
    ] {
        let file = root().join(path);
        if std::env::var_os("TARN_REGENERATE_DOCS").is_some() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        let found = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(found == text, "{path} is stale: run the tests with TARN_REGENERATE_DOCS=1");
    }
}

#[test]
fn every_option_has_a_row() {
    let page = docs();
    for option in table::options() {
        assert_eq!(page.matches(&format!("\n| `{}` |", option.name)).count(), 1, "{}", option.name);
    }
}

#[test]
fn the_sample_is_a_configuration_and_so_is_every_line_of_it() {
    let load = |text: &str| {
        let mut loader = Loader::default();
        loader.stdin(text.as_bytes()).unwrap();
        loader.finish().unwrap().config
    };
    let config = load(&sample());
    assert_eq!((config.port, config.dir.to_str()), (6379, Some("/var/lib/tarn")));
    let uncommented: Vec<String> = sample()
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line))
        // What the text says about an option begins with a capital letter, or goes on in the middle of a sentence.
        .filter(|line| table::options().any(|option| Some(option.name) == line.split(' ').next()))
        .filter(|line| !line.ends_with(['.', ',', ';']))
        .map(str::to_owned)
        .collect();
    assert!(uncommented.len() > 60, "{uncommented:?}");
    load(&uncommented.join("\n"));
}

#[test]
fn bash_completes_options_and_their_values() {
    let complete = |words: &str| {
        let program = format!(
            "{}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _tarn; echo ${{COMPREPLY[*]}}",
            bash()
        );
        let output = Command::new("bash").args(["-c", &program]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("tarn --appendf"), "--appendfsync --appendfilename");
    assert_eq!(complete("tarn --appendfsync ev"), "everysec");
    assert_eq!(complete("tarn --port 1 --protected-mode n"), "no");
    assert_eq!(complete("tarn sal"), "salvage");
    for option in table::options() {
        assert!(zsh().contains(&format!("'--{}[", option.name)), "{}", option.name);
        assert!(fish().contains(&format!(" -l {} ", option.name)), "{}", option.name);
        let is_in_man = man().contains(&format!("\\fB\\-\\-{}\\fR\n", option.name.replace('-', "\\-")));
        assert_eq!(is_in_man, option.section != Section::Compatibility, "{}", option.name);
    }
}
