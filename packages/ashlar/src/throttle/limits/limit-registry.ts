import type { Container } from "../../kernel/index.ts";
import { ConfigurationError, SourceLocation } from "../../support/index.ts";
import type { ByLimit } from "../limit-name.ts";
import { checkDeclaredLimits, type LimitDeclaration } from "./limit.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** The limits that features declare. */
    "throttle.limits": LimitRegistry;
  }
}

/** The limit that belongs to no particular feature. */
const BASE: Readonly<Record<string, LimitDeclaration>> = {
  api: { buckets: [{ by: ["address"], attempts: 300, windowSeconds: 60 }] },
};

/** The limits that an application's features declare, by name. */
export class LimitRegistry {
  readonly #limits = new Map<string, LimitDeclaration>(Object.entries(BASE));
  readonly #places = new Map<string, string>();
  #isComplete = false;

  /**
   * Adds limits.
   *
   * @param place where they are declared, or the provider that declares them
   * @throws `E_INVALID_CONFIGURATION` if a limit cannot work, if another feature has one with its name, or if it is too
   * late
   */
  add(limits: ByLimit<LimitDeclaration>, place: string): void {
    if (this.#isComplete) {
      const remedy = "Declare it in register() of the provider.";
      throw new ConfigurationError(place, "a limit is declared after the limits have been read.", remedy);
    }
    checkDeclaredLimits(limits, place);
    for (const [name, limit] of Object.entries(limits)) {
      if (this.#limits.has(name)) {
        const other = this.#places.get(name) ?? "ThrottleProvider";
        const problem = `the limit "${name}" is already declared by ${other}.`;
        throw new ConfigurationError(place, problem, "Give one of them another name.");
      }
      this.#limits.set(name, limit);
      this.#places.set(name, place);
    }
  }

  /** All of them, by name. After this, none can be added. */
  complete(): Readonly<Record<string, LimitDeclaration>> {
    this.#isComplete = true;
    return Object.fromEntries(this.#limits);
  }
}

/** The limits that the features of an application declare, whether it has `ThrottleProvider` or not. */
export function limitsOf(container: Container): LimitRegistry {
  if (!container.has("throttle.limits")) container.bind("throttle.limits", new LimitRegistry());
  return container.make("throttle.limits");
}

/**
 * Declares the limits of a feature and their defaults, which `config/throttle.ts` can replace. Call it in `register()`
 * of the feature's provider:
 *
 * ```ts
 * declare module "ashlar/throttle" { interface Limits { orders: true } }
 *
 * export class OrdersProvider extends Provider {
 *   override register(): void {
 *     declareLimits(this.application, {
 *       orders: { buckets: [{ by: ["address"], attempts: 10, windowSeconds: 60 }] },
 *     });
 *   }
 * }
 * ```
 *
 * @throws `E_INVALID_CONFIGURATION` if a limit cannot work, or if another feature has declared one with its name
 */
export function declareLimits(application: { readonly container: Container }, limits: ByLimit<LimitDeclaration>): void {
  limitsOf(application.container).add(limits, String(new SourceLocation(declareLimits)));
}
