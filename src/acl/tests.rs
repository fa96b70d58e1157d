use proptest::prelude::*;

use super::*;
use crate::config::load::Loader;
use crate::config::words;

fn new_user() -> User {
    User::new(UserId(7), b"u", Defaults::default())
}

/// The rules of a line as words, as the ACL file has them.
fn rules_of(text: &[u8]) -> Vec<Vec<u8>> {
    merge_selectors(text.split(|byte| *byte == b' ')).unwrap()
}

/// The same user again, from what it is shown as.
fn again(user: &User) -> User {
    new_user().with(&rules_of(&user.text()), Defaults::default()).unwrap()
}

#[test]
fn the_default_user_may_do_everything_and_a_new_one_nothing() {
    let user = User::default_user();
    assert!(user.is_unrestricted() && user.is_open());
    assert_eq!(user.text(), b"on nopass ~* &* +@all");
    let user = new_user();
    assert!(!user.is_unrestricted() && !user.is_open());
    assert_eq!(user.text(), b"off resetchannels -@all");
}

#[test]
fn a_selector_that_allows_everything_is_enough() {
    let rules: Vec<Vec<u8>> = vec![b"(~* &* +@all)".to_vec()];
    assert!(new_user().with(&rules, Defaults::default()).unwrap().is_unrestricted());
    // Everything that is there by name is everything.
    let rules = vec![b"~*".to_vec(), b"&*".to_vec(), b"+@all".to_vec(), b"-get".to_vec(), b"+get".to_vec()];
    assert!(new_user().with(&rules, Defaults::default()).unwrap().is_unrestricted());
    let rules = vec![b"~*".to_vec(), b"&*".to_vec(), b"+@all".to_vec(), b"db=0".to_vec()];
    assert!(!new_user().with(&rules, Defaults::default()).unwrap().is_unrestricted());
}

#[test]
fn passwords_are_kept_as_hashes() {
    let rules: Vec<Vec<u8>> = vec![b"on".to_vec(), b">one".to_vec(), b">two".to_vec(), b">one".to_vec()];
    let user = new_user().with(&rules, Defaults::default()).unwrap();
    assert_eq!(user.passwords.len(), 2);
    assert!(user.admits(b"one") && user.admits(b"two") && !user.admits(b"three") && !user.admits(b""));
    let user = user.with(&[b"<one".to_vec()], Defaults::default()).unwrap();
    assert!(!user.admits(b"one") && user.admits(b"two"));
    let hash = format!("#{}", user::Hash::of(b"four").hex()).into_bytes();
    let user = user.with(&[hash], Defaults::default()).unwrap();
    assert!(user.admits(b"four"));
    let off = user.with(&[b"off".to_vec()], Defaults::default()).unwrap();
    assert!(!off.admits(b"four"));
    let open = user.with(&[b"nopass".to_vec()], Defaults::default()).unwrap();
    assert!(open.admits(b"") && open.passwords.is_empty());
    assert!(!user.text().windows(4).any(|part| part == b"four"));
}

#[test]
fn a_generation_tells_of_every_change() {
    let acl = Acl::default();
    let mut login = Login::at_connect(&acl);
    assert!(login.is_free(&acl) && login.is_authenticated());
    acl.set_user(b"bob", [b"on".as_slice(), b"+get"], Defaults::default()).unwrap();
    assert!(!login.is_free(&acl) && login.follow(&acl) && login.is_free(&acl));
    let bob = acl.users().0.get(b"bob").unwrap().clone();
    let mut other = Login::of(bob, true, acl.generation());
    assert!(!other.is_free(&acl) && other.follow(&acl));
    acl.delete([b"bob".as_slice()]);
    acl.set_user(b"bob", [b"on".as_slice()], Defaults::default()).unwrap();
    assert!(!other.follow(&acl), "the new bob is another one");
    assert!(acl.restricted(UserId(1)).is_some_and(|user| user.name.is_empty()));
    acl.set_default_password(b"x");
    assert!(login.follow(&acl) && login.is_free(&acl), "who is in stays in");
    assert!(!Login::at_connect(&acl).is_authenticated());
    // A refused change is none.
    let before = acl.generation();
    assert!(acl.set_user(b"bob", [b"foo".as_slice()], Defaults::default()).is_err());
    assert_eq!(acl.delete([b"nobody".as_slice(), b"default"]), []);
    assert_eq!(acl.generation(), before);
}

/// What CONFIG REWRITE writes is read at the next start.
fn rewritten(acl: &Acl) -> Acl {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tarn.conf");
    std::fs::write(&path, "user stale on\nuser stale2 on\n").unwrap();
    let live = |path: &std::path::Path| {
        let mut loader = Loader::default();
        loader.main_file(path).unwrap();
        crate::config::Live::new(loader.finish().unwrap().config)
    };
    live(&path).rewrite(&acl.lines_for(&live(&path).current())).unwrap();
    let read = Acl::default();
    read.open(&live(&path).current()).unwrap();
    read
}

fn texts(acl: &Acl) -> Vec<Vec<u8>> {
    acl.users().0.iter().map(|user| user.line()).collect()
}

#[test]
fn users_survive_a_rewrite_of_the_configuration() {
    let acl = Acl::default();
    assert_eq!(acl.lines_for(&crate::config::Config::default()), [b""; 0]);
    acl.set_user(
        b"a'b",
        [b"on".as_slice(), b">p w", b"~x\"y", b"+@all", b"(\"~a\\\"b)\" +get)"],
        Defaults::default(),
    )
    .unwrap();
    acl.set_user(b"", [b"~#".as_slice(), b"&\xff\x01"], Defaults::default()).unwrap();
    assert_eq!(texts(&rewritten(&acl)), texts(&acl));
    acl.set_user(b"default", [b"-get".as_slice()], Defaults::default()).unwrap();
    assert_eq!(texts(&rewritten(&acl)), texts(&acl));
}

#[test]
fn the_file_is_only_its_owners() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.acl");
    let acl = Acl::default();
    file::save(&path, &acl.users().0).unwrap();
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    file::save(&path, &acl.users().0).unwrap();
    assert_eq!(mode(&path), 0o640, "what the operator chose stays");
}

#[test]
fn a_first_argument_that_is_given_again_is_shown_where_it_counts() {
    let mut user = new_user();
    for rule in ["+select|1", "+get|a", "+select|1"] {
        user.apply(rule.as_bytes(), Defaults::default()).unwrap();
    }
    assert!(again(&user) == user, "{}", user.text().escape_ascii());
}

#[test]
fn a_pattern_of_all_keys_is_read_back_with_those_behind_it() {
    for rules in [["%RW~*", "~a"], ["%R~*", "%W~*"], ["(%RW~*)", "~b"]] {
        let mut user = new_user();
        for rule in rules {
            user.apply(rule.as_bytes(), Defaults::default()).unwrap();
        }
        assert!(again(&user.clone().settled()) == user.clone().settled(), "{}", user.text().escape_ascii());
    }
}

/// Bytes of which some are likely to be rules.
fn rule() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "on",
        "off",
        "nopass",
        "resetpass",
        "reset",
        "allkeys",
        "resetkeys",
        "allchannels",
        "resetchannels",
        "alldbs",
        "resetdbs",
        "allcommands",
        "nocommands",
        "clearselectors",
        "+@all",
        "-@all",
        "+@read",
        "-@write",
        "+get",
        "-get",
        "+config",
        "+config|get",
        "-config|set",
        "+select|1",
        "+select|x'y",
        "db=0",
        "db=3,1,2",
        "skip-sanitize-payload",
        "~*",
        "%R~*",
        "%W~*",
        "%RW~*",
        "&*",
        "(%RW~* ~a)",
    ]);
    let text = prop::collection::vec(any::<u8>(), 0..6);
    let prefix = prop::sample::select(vec![
        "~", "%R~", "%W~", "%RW~", "&", ">", "<", "#", "!", "+", "-", "+@", "+get|", "(", "(~", "db=", "%",
        "",
    ]);
    let suffix = prop::sample::select(vec!["", "", "", ")", " +get)", "'", "\""]);
    prop_oneof![
        2 => word.prop_map(|word| word.as_bytes().to_vec()),
        2 => (prefix, text, suffix).prop_map(|(a, b, c)| [a.as_bytes(), &b, c.as_bytes()].concat()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Whatever is taken is shown so that it gives the same user again; nothing else changes anything.
    #[test]
    fn what_is_shown_gives_the_same_user(rules in prop::collection::vec(rule(), 0..8)) {
        let mut user = new_user();
        for rule in &rules {
            let before = user.clone();
            if user.apply(rule, Defaults::default()).is_err() {
                prop_assert!(user == before, "{:?}", rule.escape_ascii().to_string());
            }
        }
        let user = user.settled();
        prop_assert_eq!(again(&user).text(), user.text());
        prop_assert!(again(&user) == user, "{}", user.text().escape_ascii());
        // And as a line of the ACL file.
        let (users, errors) = file::parse(&user.line(), "f", Defaults::default(), &mut |_| UserId(7));
        prop_assert_eq!(errors, "");
        prop_assert!(**users.get(b"u").unwrap() == user);
        // And as separate words of ACL SETUSER, selectors whole.
        let shown: Vec<Vec<u8>> = rules_of(&user.text());
        let acl = Acl::default();
        acl.set_user(b"u", shown.iter().map(Vec::as_slice), Defaults::default()).unwrap();
        prop_assert_eq!(acl.users().0.get(b"u").unwrap().text(), user.text());
    }

    /// No file breaks the parser.
    #[test]
    fn any_file_is_read_or_refused(lines in prop::collection::vec(prop::collection::vec(rule(), 0..5), 0..5)) {
        let line = |rules: &Vec<Vec<u8>>| [b"user ".to_vec(), rules.join(&b' ')].concat();
        let text = lines.iter().map(line).collect::<Vec<_>>().join(&b'\n');
        let (users, errors) = file::parse(&text, "f", Defaults::default(), &mut |_| UserId(7));
        prop_assert!(users.get(DEFAULT_NAME).is_some());
        prop_assert!(errors.is_empty() || !errors.contains('\n'));
        let _ = words::split(&text);
    }
}
