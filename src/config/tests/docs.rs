use std::path::Path;

use crate::config::{docs, table};

/// Run with TARN_REGENERATE_DOCS=1 to write the page.
#[test]
fn the_page_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/config.md");
    if std::env::var_os("TARN_REGENERATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, docs()).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == docs(), "docs/config.md is stale: run the tests with TARN_REGENERATE_DOCS=1");
}

#[test]
fn every_option_has_a_row() {
    let page = docs();
    for option in table::options() {
        assert_eq!(page.matches(&format!("\n| `{}` |", option.name)).count(), 1, "{}", option.name);
    }
}
