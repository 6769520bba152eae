import { runFor } from "../../kernel/index.ts";
import type { SetupProblems } from "../../support/index.ts";
import type { ReadinessCheck } from "../monitoring/readiness.ts";
import { OutOfTimeError, within } from "../process/within.ts";
import type { Application } from "./application.ts";
import { requireDistinct } from "./feature-names.ts";
import { type InstalledFeature, install, installedFeatures, requireReadCommands } from "./installed-features.ts";
import { Provider, type ProviderClass } from "./provider.ts";

/**
 * How long a provider may take to shut down if no time is left, in seconds: enough if it doesn't have to wait for
 * anything.
 */
const LAST_MOMENT_SECONDS = 0.05;

/** The providers of an application, in the order in which they start. */
export class Providers {
  readonly #application: Application;
  readonly #registered: Provider[] = [];
  #features: readonly InstalledFeature[] = [];
  /** The providers that have booted successfully. */
  readonly #booted = new Set<Provider>();

  constructor(application: Application) {
    this.#application = application;
  }

  /** The providers' features. They are known before the first provider registers. */
  get features(): readonly InstalledFeature[] {
    return this.#features;
  }

  /**
   * Installs the features, then creates the providers and has each one bind its services.
   *
   * @param listed the providers' classes; one that is listed twice is created once
   * @param problems collects the errors
   */
  async register(listed: readonly ProviderClass[], problems: SetupProblems): Promise<void> {
    const classes = [...new Set(listed)];
    for (const providerClass of classes) problems.try(() => requireReadCommands(providerClass));
    this.#features = installedFeatures(classes);
    requireDistinct(this.#features, problems);
    for (const one of this.#features) await problems.run(() => install(one, this.#application), one.provider);
    for (const providerClass of classes) {
      this.#application.container.boundBy(providerClass.name);
      await problems.run(async () => {
        const provider = new providerClass(this.#application);
        await provider.register();
        this.#registered.push(provider);
      }, providerClass.name);
    }
  }

  /**
   * Calls `boot()` on each provider.
   *
   * @param problems collects the errors
   */
  async boot(problems: SetupProblems): Promise<void> {
    const { container } = this.#application;
    for (const provider of this.#registered) {
      const { name } = provider.constructor;
      container.boundBy(name);
      await problems.run(async () => {
        await provider.boot();
        this.#booted.add(provider);
      }, name);
    }
    container.boundBy("the application");
  }

  /**
   * Calls `ready()` on each provider that has booted.
   *
   * @param problems collects the errors
   */
  async ready(problems: SetupProblems): Promise<void> {
    for (const provider of this.#booted) await problems.run(() => provider.ready());
  }

  /** Calls `listening()` on each provider. */
  async listening(port: number): Promise<void> {
    for (const provider of this.#registered) await provider.listening(port);
  }

  /** The providers' readiness checks. */
  get checks(): readonly ReadinessCheck[] {
    const checking = this.#registered.filter((provider) => provider.check !== Provider.prototype.check);
    return checking.map((provider) => ({
      name: nameOf(provider),
      failsReadiness: provider.failsReadiness,
      run: () => runFor(this.#application, () => provider.check()),
    }));
  }

  /** Whether any provider prunes anything. */
  get canPrune(): boolean {
    return this.#registered.some((provider) => provider.prune !== Provider.prototype.prune);
  }

  /** See {@link Application.prune}. */
  async prune(signal?: AbortSignal): Promise<Record<string, number>> {
    const pruned: Record<string, number> = {};
    const errors: unknown[] = [];
    for (const provider of this.#registered) {
      if (signal?.aborted === true) break;
      try {
        Object.assign(pruned, await runFor(this.#application, () => provider.prune(signal)));
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 1) throw new AggregateError(errors, "Several providers could not delete what has expired.");
    if (errors.length === 1) throw errors[0];
    return pruned;
  }

  /**
   * Shuts the providers down, in reverse order. Failures are logged.
   *
   * @param secondsLeft returns how much time is left for all of them. Once it is 0, each remaining provider gets only a moment.
   * @returns how much work they had to cut off, by kind
   */
  async shutdown(secondsLeft: () => number): Promise<Readonly<Record<string, number>>> {
    const cutOff: Record<string, number> = {};
    const add = (counts: Readonly<Record<string, number>>): void => {
      for (const [kind, count] of Object.entries(counts)) cutOff[kind] = (cutOff[kind] ?? 0) + count;
    };
    for (const provider of this.#registered.toReversed()) {
      const seconds = Math.max(secondsLeft(), LAST_MOMENT_SECONDS);
      try {
        const counts = await within(seconds, provider.shutdown(seconds));
        if (counts !== undefined) add(counts);
      } catch (error) {
        // A provider that hasn't booted may have nothing to shut down. Its failure to boot has already been reported.
        const level = this.#booted.has(provider) ? "error" : "debug";
        const line = { err: error, provider: provider.constructor.name };
        this.#application.logger[level](line, "A provider could not be shut down.");
        if (error instanceof OutOfTimeError) add({ providers: 1 });
      }
    }
    return cutOff;
  }
}

/** The name of a provider's check: `database` for `DatabaseProvider`. */
function nameOf({ constructor: { name } }: Provider): string {
  const short = name.replace(/Provider$/, "") || name;
  return short.charAt(0).toLowerCase() + short.slice(1);
}
