import { ConfigurationError, declareErrorsOf, declareSecretNames } from "../../support/index.ts";
import type { Application } from "./application.ts";
import type { Feature, MakeContextProperty } from "./feature.ts";
import { messagesIn } from "./feature-names.ts";
import type { ProviderClass } from "./provider.ts";

/** A feature of an application. */
export interface InstalledFeature {
  readonly feature: Feature;
  /** The name of the provider that adds it. */
  readonly provider: string;
}

/**
 * The providers' features, in order, each after those that it includes. A provider that extends another one also adds
 * the other's feature.
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

/** @throws `E_INVALID_CONFIGURATION` if a provider declares its commands where they aren't read */
export function requireReadCommands(provider: ProviderClass): void {
  const old = lineOf(provider).find((declaring) => Object.hasOwn(declaring, "commands"));
  if (old === undefined) return;
  const remedy = "List them in its feature: declareFeature({ name, commands: [ … ] }).";
  throw new ConfigurationError(old.name, "static commands are not read.", remedy);
}

/** A class and the classes that it extends, base class first. */
function lineOf(provider: ProviderClass): readonly ProviderClass[] {
  const line: ProviderClass[] = [];
  for (let one: unknown = provider; typeof one === "function" && one.prototype; one = Object.getPrototypeOf(one)) {
    line.unshift(one as ProviderClass);
  }
  return line;
}

/** Adds a feature's declarations to its application, except for the parts that other features read themselves. */
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
    application.contextProperty(name, make as MakeContextProperty<never>, { isKept });
  }
}

/** The entries of an optional object, typed. */
function entriesOf<T extends object>(record: T | undefined): [keyof T & string, NonNullable<T[keyof T]>][] {
  return Object.entries(record ?? {}) as [keyof T & string, NonNullable<T[keyof T]>][];
}
