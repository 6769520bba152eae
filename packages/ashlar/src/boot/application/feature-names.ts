import { ConfigurationError, type SetupProblems } from "../../support/index.ts";
import type { Feature, FeatureMessages } from "./feature.ts";
import type { InstalledFeature } from "./installed-features.ts";

/** The word for one entry of each part. A part that isn't listed here is called by its own name. */
const WORDS: Readonly<Record<string, string>> = {
  messages: "message",
  services: "service",
  context: "context property",
  errors: "error code",
  variables: "variable",
  keyPurposes: "key purpose",
  tables: "table",
  routes: "function for routes",
  commands: "command",
  checks: "check",
  limits: "limit",
  events: "event",
  proofs: "proof",
  userData: "data of users",
  accountMails: "mail",
  views: "folder of templates",
  authenticators: "kind of authenticator",
};

/** The parts whose names several features may declare: variables, which are shared, and unchanged error codes. */
const SHARED: ReadonlySet<string> = new Set(["variables", "errors"]);

/** The names of a feature's additions, by part: limits, messages, and the parts that other features define. */
export function namesIn({
  name: _name,
  includes: _includes,
  ...parts
}: Feature): ReadonlyMap<string, readonly string[]> {
  const named = Object.entries(parts).map(([part, value]): [string, readonly string[]] => {
    return [
      part,
      part === "messages" ? messagesIn(parts).flatMap(({ english }) => Object.keys(english)) : namesOf(value),
    ];
  });
  return new Map(named.filter(([, names]) => names.length > 0));
}

/** The names in a part: the keys of an object, or the names of a list's elements. */
function namesOf(part: unknown): readonly string[] {
  if (!Array.isArray(part)) return Object.keys(Object(part));
  return part.map((one: unknown) => String((Object(one) as { readonly name?: unknown }).name ?? one));
}

/** The languages of a feature's sentences, besides English. */
export function languagesOf(feature: Feature): readonly string[] {
  return [...new Set(messagesIn(feature).flatMap(({ translations = {} }) => Object.keys(translations)))].toSorted();
}

/** The sentences of a feature. */
export function messagesIn({ messages = [] }: Pick<Feature, "messages">): readonly FeatureMessages[] {
  return Array.isArray(messages) ? (messages as readonly FeatureMessages[]) : [messages as FeatureMessages];
}

/**
 * Makes sure that no name belongs to two features, including the features' own names.
 *
 * @param problems collects the names that belong to two features, each with both providers
 * @throws the collected problems, if there are any
 */
export function requireDistinct(features: readonly InstalledFeature[], problems: SetupProblems): void {
  let areDistinct = true;
  const owners = new Map<string, string>();
  for (const { feature, provider } of features) {
    for (const claim of claimsOf(feature)) {
      const owner = owners.get(claim);
      owners.set(claim, provider);
      if (owner === undefined) continue;
      areDistinct = false;
      problems.try(() => {
        const problem = `${claim} is already declared by ${owner}.`;
        throw new ConfigurationError(provider, problem, "Give one of them another name.");
      });
    }
  }
  // The next steps would report the same names again, as bound or declared twice.
  if (!areDistinct) throw problems.error;
}

/** A name that no other feature may declare, in the wording of errors. */
function claimsOf(feature: Feature): readonly string[] {
  const parts = [...namesIn(feature)].filter(([part]) => !SHARED.has(part));
  const claims = parts.flatMap(([part, names]) => names.map((name) => `the ${WORDS[part] ?? part} "${name}"`));
  const findings = (feature.checks ?? []).flatMap((check) => Object.keys(check.findings));
  return [`the feature "${feature.name}"`, ...claims, ...findings.map((id) => `the finding "${id}"`)];
}
