//! The lists that text is drawn from.

use std::sync::LazyLock;

use crate::random::{Random, Zipf};

/// User agents by browser: `{}` is the platform, and `{v}` the version.
const BROWSERS: [&str; 5] = [
    "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{v}.0 Safari/537.36",
    "Mozilla/5.0 ({}; rv:{v}.0) Gecko/20100101 Firefox/{v}.0",
    "Mozilla/5.0 (compatible; MSIE {v}.0; {}; Trident/5.0)",
    "Mozilla/5.0 ({}) AppleWebKit/534.57 (KHTML, like Gecko) Version/{v}.1 Safari/534.57",
    "Opera/9.80 ({}; U; en) Presto/2.10 Version/{v}.0",
];
const PLATFORMS: [&str; 12] = [
    "Windows NT 6.1; WOW64",
    "Windows NT 5.1",
    "Windows NT 6.2; Win64; x64",
    "Macintosh; Intel Mac OS X 10_8_2",
    "X11; Linux x86_64",
    "Windows NT 6.0",
    "iPad; CPU OS 6_0 like Mac OS X",
    "Linux; Android 4.1.1; Nexus 7",
    "Macintosh; Intel Mac OS X 10_6_8",
    "X11; Ubuntu; Linux i686",
    "Windows NT 5.2",
    "X11; FreeBSD amd64",
];
const VERSIONS: usize = 30;

/// The countries and languages of visitors, the commonest first.
pub(super) const LOCALES: [(&str, &str); 40] = [
    ("USA", "en-US"),
    ("CHN", "zh-CN"),
    ("IND", "hi-IN"),
    ("JPN", "ja-JP"),
    ("BRA", "pt-BR"),
    ("DEU", "de-DE"),
    ("RUS", "ru-RU"),
    ("GBR", "en-GB"),
    ("FRA", "fr-FR"),
    ("MEX", "es-MX"),
    ("KOR", "ko-KR"),
    ("TUR", "tr-TR"),
    ("ITA", "it-IT"),
    ("ESP", "es-ES"),
    ("CAN", "en-CA"),
    ("VNM", "vi-VN"),
    ("ARG", "es-AR"),
    ("POL", "pl-PL"),
    ("COL", "es-CO"),
    ("UKR", "uk-UA"),
    ("THA", "th-TH"),
    ("AUS", "en-AU"),
    ("EGY", "ar-EG"),
    ("NLD", "nl-NL"),
    ("CAN", "fr-CA"),
    ("SAU", "ar-SA"),
    ("SWE", "sv-SE"),
    ("BEL", "nl-BE"),
    ("CHE", "de-CH"),
    ("AUT", "de-AT"),
    ("CZE", "cs-CZ"),
    ("PRT", "pt-PT"),
    ("HUN", "hu-HU"),
    ("GRC", "el-GR"),
    ("NOR", "nb-NO"),
    ("DNK", "da-DK"),
    ("FIN", "fi-FI"),
    ("ISR", "he-IL"),
    ("IRL", "en-IE"),
    ("ISL", "is-IS"),
];

const ONSETS: [&str; 16] =
    ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"];
const RIMES: [&str; 10] = ["a", "e", "i", "o", "u", "an", "er", "in", "ol", "us"];
const WORDS: usize = 5000;

/// The lists, and the frequency of each entry.
#[derive(Debug)]
pub(super) struct Vocabulary {
    agents: (Vec<String>, Zipf),
    locales: Zipf,
    words: (Vec<String>, Zipf),
}

/// The vocabulary, which is the same for all seeds, as browsers and languages are.
pub(super) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let agents = user_agents();
    let words: Vec<String> = (0..WORDS).map(word).collect();
    Vocabulary {
        agents: (agents.clone(), Zipf::new(agents.len(), 1.0)),
        locales: Zipf::new(LOCALES.len(), 1.0),
        words: (words.clone(), Zipf::new(words.len(), 1.0)),
    }
});

impl Vocabulary {
    pub(super) fn agent(&self, random: &mut Random) -> &str {
        &self.agents.0[self.agents.1.draw(random)]
    }

    pub(super) fn locale(&self, random: &mut Random) -> (&'static str, &'static str) {
        LOCALES[self.locales.draw(random)]
    }

    pub(super) fn word(&self, random: &mut Random) -> &str {
        &self.words.0[self.words.1.draw(random)]
    }
}

/// Returns 1800 user agents, in an order that mixes browsers, platforms and versions.
fn user_agents() -> Vec<String> {
    let mut agents: Vec<String> = Vec::with_capacity(BROWSERS.len() * PLATFORMS.len() * VERSIONS);
    for version in 0..VERSIONS {
        for platform in PLATFORMS {
            for browser in BROWSERS {
                let version = (version + 7).to_string();
                agents.push(browser.replace("{}", platform).replace("{v}", &version));
            }
        }
    }
    agents.sort_by_cached_key(|agent| {
        let bytes = agent.bytes().enumerate();
        bytes.fold(0, |hash, (at, byte)| {
            crate::random::scatter(hash ^ (u64::from(byte) << (at % 8)))
        })
    });
    agents
}

/// Spells a number in syllables.
fn word(number: usize) -> String {
    let mut text = String::new();
    let mut rest = number + 1;
    while rest > 0 {
        text += ONSETS[rest % ONSETS.len()];
        rest /= ONSETS.len();
        text += RIMES[rest % RIMES.len()];
        rest /= RIMES.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn lists_hold_nothing_twice() {
        let agents: HashSet<String> = user_agents().into_iter().collect();
        assert_eq!(agents.len(), 1800);
        assert!(agents.iter().all(|agent| agent.len() <= 256 && !agent.contains(['{', '"'])));
        let languages: HashSet<&str> = LOCALES.iter().map(|(_, language)| *language).collect();
        assert_eq!(languages.len(), LOCALES.len());
        let words: HashSet<String> = (0..WORDS).map(word).collect();
        assert!(words.len() > WORDS * 9 / 10 && words.iter().all(|word| word.len() <= 32));
    }
}
