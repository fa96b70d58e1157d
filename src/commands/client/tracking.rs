//! CLIENT TRACKING and its kin: client-side caching.

use crate::clients::flag;
use crate::dispatch::args::Args;
use crate::dispatch::session::{Answer, SessionCx, TrackingState};
use crate::error::{Error, Result, shown};
use crate::reply::Reply;
use crate::tracking::Options;

fn refuse<T>(words: impl Into<String>) -> Result<T> {
    Err(Error::reply(words.into()).into())
}

pub fn tracking(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let switch = args.next()?;
    let mut options = Options::default();
    while !args.is_empty() {
        if args.keyword("redirect") && !args.is_empty() {
            if options.redirect.is_some() {
                return refuse("ERR A client can only redirect to a single other client");
            }
            let id = args.int()?;
            let id = u64::try_from(id).ok().filter(|id| cx.node.clients.get(*id).is_some());
            options.redirect = match id {
                Some(id) => Some(id),
                None => return refuse("ERR The client ID you want redirect to does not exist"),
            };
        } else if args.keyword("bcast") {
            options.bcast = true;
        } else if args.keyword("optin") {
            options.optin = true;
        } else if args.keyword("optout") {
            options.optout = true;
        } else if args.keyword("noloop") {
            options.noloop = true;
        } else if args.keyword("prefix") && !args.is_empty() {
            options.prefixes.push(args.next()?.into());
        } else {
            return Err(Error::Syntax.into());
        }
    }
    if switch.eq_ignore_ascii_case(b"off") {
        cx.session.untrack(cx.node);
        return Ok(Reply::OK.into());
    }
    if !switch.eq_ignore_ascii_case(b"on") {
        return Err(Error::Syntax.into());
    }
    begin(cx, options)
}

fn begin(cx: &mut SessionCx<'_>, mut options: Options) -> Result<Answer> {
    if !options.bcast && !options.prefixes.is_empty() {
        return refuse("ERR PREFIX option requires BCAST mode to be enabled");
    }
    let before = cx.session.tracking.as_ref().map(|state| state.tracker.options.clone());
    if before.as_ref().is_some_and(|before| before.bcast != options.bcast) {
        return refuse(
            "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.",
        );
    }
    if options.bcast && (options.optin || options.optout) {
        return refuse("ERR OPTIN and OPTOUT are not compatible with BCAST");
    }
    if options.optin && options.optout {
        return refuse("ERR You can't specify both OPTIN mode and OPTOUT mode");
    }
    if let Some(before) = &before
        && (options.optin && before.optout || options.optout && before.optin)
    {
        return refuse(
            "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.",
        );
    }
    if options.bcast {
        let known = before.map(|before| before.prefixes).unwrap_or_default();
        options.prefixes = with_prefixes(known, options.prefixes)?;
    }
    let client = &cx.session.client;
    client.set_flag(flag::TRACKING, true);
    client.set_flag(flag::BCAST, options.bcast);
    client.set_redirect(options.redirect.map_or(0, |id| id as i64));
    let caching = cx.session.tracking.as_ref().and_then(|state| state.caching);
    let tracker = cx.node.tracking.begin(client, options);
    cx.node.nodes.want_anew();
    cx.session.tracking = Some(Box::new(TrackingState { tracker, caching }));
    Ok(Reply::OK.into())
}

/// The prefixes of a client with further ones. None of them may be the beginning of another.
fn with_prefixes(known: Vec<Box<[u8]>>, more: Vec<Box<[u8]>>) -> Result<Vec<Box<[u8]>>> {
    let overlap = |a: &[u8], b: &[u8]| a.starts_with(b) || b.starts_with(a);
    let refused = |prefix: &[u8], with: &str, other: &[u8]| {
        refuse(format!(
            "ERR Prefix '{}' overlaps with {with} prefix '{}'. Prefixes for a single client must not overlap.",
            shown(prefix),
            shown(other)
        ))
    };
    for (place, prefix) in more.iter().enumerate() {
        if let Some(other) = known.iter().find(|other| overlap(prefix, other)) {
            return refused(prefix, "an existing", other);
        }
        if let Some(other) = more.iter().skip(place + 1).find(|other| overlap(prefix, other)) {
            return refused(prefix, "another provided", other);
        }
    }
    let mut all = known;
    all.extend(more);
    all.sort_unstable();
    if all.is_empty() {
        // Every key.
        all.push(Box::default());
    }
    Ok(all)
}

pub fn info(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    let mut flags = Vec::new();
    let mut prefixes = Vec::new();
    match &cx.session.tracking {
        None => flags.push("off"),
        Some(state) => {
            let options = &state.tracker.options;
            let known = [
                ("on", true),
                ("bcast", options.bcast),
                ("optin", options.optin),
                ("caching-yes", options.optin && state.caching == Some(true)),
                ("optout", options.optout),
                ("caching-no", options.optout && state.caching == Some(false)),
                ("noloop", options.noloop),
                ("broken_redirect", state.tracker.is_broken()),
            ];
            flags.extend(known.iter().filter(|(_, is_set)| *is_set).map(|(word, _)| *word));
            prefixes.extend(options.prefixes.iter().map(|prefix| Reply::bulk(prefix.to_vec())));
        }
    }
    Ok(Reply::Map(vec![
        (Reply::text("flags"), Reply::Set(flags.into_iter().map(Reply::text).collect())),
        (Reply::text("redirect"), redirect(cx)),
        (Reply::text("prefixes"), Reply::Array(prefixes)),
    ])
    .into())
}

/// -1 without tracking, 0 without redirection.
fn redirect(cx: &SessionCx<'_>) -> Reply {
    let tracking = cx.session.tracking.as_ref();
    Reply::Integer(tracking.map_or(-1, |state| state.tracker.options.redirect.map_or(0, |id| id as i64)))
}

pub fn get_redir(cx: &mut SessionCx<'_>, _: Args<'_>) -> Result<Answer> {
    Ok(redirect(cx).into())
}

pub fn caching(cx: &mut SessionCx<'_>, mut args: Args<'_>) -> Result<Answer> {
    let Some(state) = &mut cx.session.tracking else {
        return refuse(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
        );
    };
    let options = &state.tracker.options;
    if args.keyword("yes") {
        if !options.optin {
            return refuse("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
        }
        state.caching = Some(true);
    } else if args.keyword("no") {
        if !options.optout {
            return refuse("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
        }
        state.caching = Some(false);
    } else {
        return Err(Error::Syntax.into());
    }
    Ok(Reply::OK.into())
}
