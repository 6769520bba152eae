/** A phrase that reads as translated: what to look for, and what a native speaker would write. */
export interface Marker {
  readonly phrase: string;
  readonly instead: string;
}

function markers(phrases: Readonly<Record<string, string>>): Marker[] {
  return Object.entries(phrases).map(([phrase, instead]) => ({ phrase, instead }));
}

/**
 * The phrases that new text doesn't use. A phrase is the source of a regular expression in which a space stands for
 * any white space. It matches whole words, in upper and lower case.
 */
export const MARKERS: readonly Marker[] = markers({
  // The actor is missing or hidden.
  "nobody('s)?": "no one, or name the actor: no user, no caller",
  "somebody('s)?": "someone, or name the actor: a user, an attacker",
  whoever: "name the actor: the user, the caller, the client",
  "(is|are|was|were|be) told(?! to)": "learns, receives, is notified",
  "(to|for|by|from|with|tells?) who (does|has|is|wants|needs|knows|can)": "name the actor: to users who have",
  "(he|him|his|himself)": "they, them, their, or repeat the noun",
  "of .{1,40} none counts": "name the actor: ignores a field that is sent twice",

  // The pronoun is a riddle.
  "what it(?! (is|does|costs?|means?|adds?|throws|decides)\\b)": "name the thing: the value that it returns",
  "the ones? that": "repeat the noun: the connection that",
  "(each|every) one of (these|those|them)": "each of them",

  // A noun is negated instead of the verb.
  "(?<!there )(is|are|was|were) no (?!longer|more|less|other|way|such|doubt|problem|reason|one|point)[a-z]+":
    "is not a …, or: there is no …",
  "(?<!there )(is|are|was|were) no such": "doesn't exist, is not a …",
  "(is|are|was|were) none": "is missing, there isn't one, is not a …",

  // Noun-of-noun chains.
  // A limit "of its own route" is fine, a route "of its own" isn't.
  "of (its|their|one's) own(?= (?:and|or|that|in|on|with|for|from|without|since|as|if|to|when|is|are|has)\\b|[^ \\w]|$)":
    "its own X, a separate X",
  "one's own": "your own",
  "a class of a": "a mail class",
  "the (token|body|header|path|origin) of a request": "the request's token",

  // Words that colleagues don't use.
  meanwhile: "in the meantime, since then, while …",
  anew: "again",
  "(is|are|was|were|be|been|database|redis|server|store) away": "is down, is unreachable",
  "(is|are|was|were|be|been) given up": "is abandoned, is canceled",
  "mend(s|ed|ing)?": "fix",
  "judge[sd]? (for|by|as)": "check as, check against",
  "(has|have) the last word": "decides",
  "(goes|go|went) on(?! to)": "continues",
  "ends? the boot": "fails startup",
  "ended the boot": "failed startup",
  "in the place of": "instead of, in place of",
  "lets? go of": "releases",
  "(that is|are|is) in force": "active, current, in effect",
  "without end": "without limit",
  "too deep": "too deeply",
  "stands? in (?!for)": "is in",
  "in vain": "without success",
  "takes? (it|them|this|that) back": "undoes it, reverts it",
  "(every|each) kind of": "every",
  thereby: "so, which",
});
