//! Options that take one of a few words.

/// An enum whose values have a name in the configuration. The order of `NAMES` is the order in error messages.
pub trait Choice: Copy + PartialEq + 'static {
    const NAMES: &'static [&'static str];
    const ALL: &'static [Self];

    fn name(self) -> &'static str {
        Self::ALL.iter().zip(Self::NAMES).find(|(value, _)| **value == self).map_or("", |(_, name)| name)
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().zip(Self::ALL).find(|(known, _)| **known == name).map(|(_, value)| *value)
    }
}

macro_rules! choices {
    ($($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)+ })+) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum $type { $($(#[$variant_doc])* $variant,)+ }

        impl Choice for $type {
            const NAMES: &'static [&'static str] = &[$($name),+];
            const ALL: &'static [Self] = &[$(Self::$variant),+];
        }
    )+ };
}

choices! {
    /// When an acknowledged write is on the device.
    AppendFsync {
        /// About once a second; a crash of the process alone loses nothing.
        #[default] EverySec = "everysec",
        /// Before the reply.
        Always = "always",
        /// When the operating system sees fit.
        No = "no",
    }

    EngineKind {
        #[default] RocksDb = "rocksdb",
        /// Nothing is kept over a restart.
        Memory = "memory",
        /// Everything is kept on a cluster.
        Tikv = "tikv",
    }

    /// What goes where data may take only so much of the disk.
    EvictionPolicy {
        VolatileLru = "volatile-lru",
        VolatileLfu = "volatile-lfu",
        VolatileRandom = "volatile-random",
        VolatileTtl = "volatile-ttl",
        VolatileLrm = "volatile-lrm",
        AllkeysLru = "allkeys-lru",
        AllkeysLfu = "allkeys-lfu",
        AllkeysRandom = "allkeys-random",
        AllkeysLrm = "allkeys-lrm",
        #[default] NoEviction = "noeviction",
    }

    LogLevel {
        Debug = "debug",
        Verbose = "verbose",
        #[default] Notice = "notice",
        Warning = "warning",
        Nothing = "nothing",
    }

    /// Which channels new users may use.
    PubsubDefault {
        AllChannels = "allchannels",
        #[default] ResetChannels = "resetchannels",
    }

    /// Who may use a command or option that can harm the machine.
    Guard {
        #[default] No = "no",
        Yes = "yes",
        /// Connections from this machine.
        Local = "local",
    }

    /// Whom the process tells that it is ready.
    Supervised {
        #[default] No = "no",
        Systemd = "systemd",
        /// Whoever its environment names.
        Auto = "auto",
    }

    /// Whether `oom-score-adj-values` count, and from where.
    OomScoreAdj {
        #[default] No = "no",
        /// As `relative`.
        Yes = "yes",
        /// Added to the score that the process began with.
        Relative = "relative",
        Absolute = "absolute",
    }

    /// What a multi-key command over several slots gets.
    CrossSlot {
        #[default] Allow = "allow",
        Deny = "deny",
    }

    /// The version of RDB that payloads are written in.
    DumpVersion {
        V6 = "6",
        V7 = "7",
        V8 = "8",
        V9 = "9",
        V10 = "10",
        #[default] V11 = "11",
        V12 = "12",
        /// Valkey's.
        V80 = "80",
    }

    /// Whether clients of the TLS port have to show a certificate.
    AuthClients {
        No = "no",
        #[default] Yes = "yes",
        /// They need not, but one that is shown must be good.
        Optional = "optional",
    }

    /// What in a client's certificate names its user.
    CertificateUser {
        CommonName = "CN",
        Uri = "URI",
        #[default] Off = "off",
    }

    /// How fields that have expired are found.
    ActiveExpireMode {
        /// By an index of each hash's earliest expiry.
        #[default] Sort = "sort",
        /// By walking the keyspace.
        Scan = "scan",
    }
}

impl DumpVersion {
    pub fn number(self) -> u16 {
        match self {
            Self::V6 => 6,
            Self::V7 => 7,
            Self::V8 => 8,
            Self::V9 => 9,
            Self::V10 => 10,
            Self::V11 => 11,
            Self::V12 => 12,
            Self::V80 => crate::rdb::VALKEY,
        }
    }
}

impl Guard {
    /// `local`: the client is connected over a unix socket or the loopback interface.
    pub fn allows(self, local: bool) -> bool {
        match self {
            Self::No => false,
            Self::Yes => true,
            Self::Local => local,
        }
    }
}

/// Which key goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    None,
    Any,
    LeastRecentlyUsed,
    LeastRecentlyModified,
    LeastFrequentlyUsed,
    SoonestToExpire,
}

impl EvictionPolicy {
    pub fn victim(self) -> Victim {
        match self {
            Self::NoEviction => Victim::None,
            Self::AllkeysRandom | Self::VolatileRandom => Victim::Any,
            Self::AllkeysLru | Self::VolatileLru => Victim::LeastRecentlyUsed,
            Self::AllkeysLrm | Self::VolatileLrm => Victim::LeastRecentlyModified,
            Self::AllkeysLfu | Self::VolatileLfu => Victim::LeastFrequentlyUsed,
            Self::VolatileTtl => Victim::SoonestToExpire,
        }
    }

    /// Whether only keys that expire may go.
    pub fn is_volatile(self) -> bool {
        matches!(
            self,
            Self::VolatileLru
                | Self::VolatileLfu
                | Self::VolatileRandom
                | Self::VolatileTtl
                | Self::VolatileLrm
        )
    }
}
