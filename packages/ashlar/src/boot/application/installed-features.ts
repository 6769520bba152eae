import { ConfigurationError, declareErrorsOf, declareSecretNames, type SetupProblems } from "../../support/index.ts";
import type { Application } from "./application.ts";
import type { Feature, FeatureMessages } from "./feature.ts";
import type { ProviderClass } from "./provider.ts";

/** A feature of an application. */
export interface InstalledFeature {
  readonly feature: Feature;
  /** The name of the provider that brings it. */
  readonly provider: string;
}

/**
 * The features of providers, in order, each after those that it includes. A provider that extends another one brings the
 * other's feature, too.
 */
export function installedFeatures(providers: readonly ProviderClass[]): readonly InstalledFeature[] {
  const installed = new Map<Feature, InstalledFeature>();
  const add = (feature: Feature, provider: string): void => {
    for (const included of feature.includes ?? []) add(included, provider);
    if (!installed.has(feature)) installed.set(feature, { feature, provider });
  };
  for (const provider of providers) {
    for (const declaring of lineOf(provider)) {
      const feature = Object.hasOwn(declaring, "feature") ? declaring.feature : undefined;
      if (feature !== undefined) add(feature, declaring.name || feature.name);
    }
  }
  return [...installed.values()];
}

/** @throws `E_INVALID_CONFIGURATION` if a provider has its commands where they are not read */
export function requireReadCommands(provider: ProviderClass): void {
  const old = lineOf(provider).find((declaring) => Object.hasOwn(declaring, "commands"));
  if (old === undefined) return;
  const remedy = "List them in its feature: declareFeature({ name, commands: [ … ] }).";
  throw new ConfigurationError(old.name, "static commands are not read.", remedy);
}

/** A class with those that it extends, the base first. */
function lineOf(provider: ProviderClass): readonly ProviderClass[] {
  const line: ProviderClass[] = [];
  for (let one: unknown = provider; typeof one === "function" && one.prototype; one = Object.getPrototypeOf(one)) {
    line.unshift(one as ProviderClass);
  }
  return line;
}

/** What one name of each part is called. A part that isn't here is called by its own name. */
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
  limits: "limit",
  events: "event",
  proofs: "proof",
  userData: "data of users",
  accountMails: "mail",
  views: "folder of templates",
};

/** What several features may name: variables are shared, and an error code may be declared again unchanged. */
const SHARED: ReadonlySet<string> = new Set(["variables", "errors"]);

/** The names of what a feature adds, by part: its limits, its messages. Parts that other features have defined are among them. */
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

/** The names of a part: the keys of an object, or what the elements of a list are named. */
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
 * Makes sure that no name belongs to two features.
 *
 * @param problems collects the names that do, each with both providers
 * @throws what was collected, if any does
 */
export function requireDistinct(features: readonly InstalledFeature[], problems: SetupProblems): void {
  let areDistinct = true;
  const owners = new Map<string, string>();
  for (const { feature, provider } of features) {
    for (const [part, names] of namesIn(feature)) {
      if (SHARED.has(part)) continue;
      for (const name of names) {
        const claim = `the ${WORDS[part] ?? part} "${name}"`;
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
  }
  // What follows would report the same names again, as bound or declared twice.
  if (!areDistinct) throw problems.error;
}

/** Adds what a feature declares to its application, except for what other features read from there themselves. */
export function install({ feature, provider }: InstalledFeature, application: Application): void {
  const { container, messages } = application;
  container.boundBy(provider);
  declareErrorsOf(provider, feature.errors ?? {});
  declareSecretNames(
    ...entriesOf(feature.variables).flatMap(([name, { isSecret }]) => (isSecret === true ? [name] : [])),
  );
  for (const { english, translations } of messagesIn(feature)) messages.declare(english, translations);
  for (const [key, make] of entriesOf(feature.services)) {
    container.singleton(key, () => make(application) as never);
  }
  for (const [name, property] of entriesOf(feature.context)) {
    const { make, isKept = true } = typeof property === "function" ? { make: property } : property;
    application.contextProperty(name, (context) => make(context, application) as never, { isKept });
  }
}

/** The entries of an optional object, typed. */
function entriesOf<T extends object>(record: T | undefined): [keyof T & string, NonNullable<T[keyof T]>][] {
  return Object.entries(record ?? {}) as [keyof T & string, NonNullable<T[keyof T]>][];
}
