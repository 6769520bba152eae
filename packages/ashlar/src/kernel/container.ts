import type { HttpContext } from "../http/index.ts";
import type { Router } from "../routing/index.ts";
import { AshlarError, suggestion } from "../support/index.ts";
import type { Logger } from "./logger.ts";

/** Responds to a request with a template. */
export type RenderView = (context: HttpContext, template: string, data: Readonly<Record<string, unknown>>) => unknown;

/** What the framework's features add to {@link Services}. An application augments `Services` itself. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that features can augment it.
export interface FrameworkServices {}

/**
 * The keys of the container and their values. An application adds its own by declaration merging:
 *
 * ```ts
 * declare module "ashlar" { interface Services { clock: Clock } }
 * ```
 */
export interface Services extends FrameworkServices {
  logger: Logger;
  /** The compiled routes; available once providers boot. */
  router: Router;
  /** The path of the web routes file, relative to the application's root, without extension. */
  "routes.location": string;
  /** The path of the API routes file, relative to the application's root, without extension. */
  "routes.api.location": string;
  /** The prefix of every path in the API routes file, such as `/api`. */
  "routes.api.prefix": string;
  /**
   * The application's own compilers for route parameters, `{ year: /\d{4}/ }` for `@year:year`. Each must match a complete
   * decoded segment of at most 256 characters. RE2 matches it in linear time; assertions such as `(?=…)` and references
   * such as `\1` end the boot.
   */
  "routes.compilers": Readonly<Record<string, RegExp>>;
  /** Renders the pages of `Route.view`; bound by the feature that provides views. */
  "routes.view": RenderView;
}

/** A key of the container. */
export type ServiceKey = keyof Services & string;

interface Binding {
  readonly make: (container: Container) => unknown;
  readonly shared: boolean;
  instance?: { readonly value: unknown };
}

/** Holds the application's services by typed key, and creates each on first use. */
export class Container {
  readonly #bindings = new Map<string, Binding>();
  readonly #underway = new Set<string>();

  /** Binds a value as is. A later binding of the same key replaces it. */
  bind<K extends ServiceKey>(key: K, value: Services[K]): this {
    this.#bindings.set(key, { make: () => value, shared: true, instance: { value } });
    return this;
  }

  /** Binds a service that is created once, on first use. */
  singleton<K extends ServiceKey>(key: K, make: (container: Container) => Services[K]): this {
    this.#bindings.set(key, { make, shared: true });
    return this;
  }

  /** Binds a service that is created again for each use. */
  factory<K extends ServiceKey>(key: K, make: (container: Container) => Services[K]): this {
    this.#bindings.set(key, { make, shared: false });
    return this;
  }

  /** Reports whether a key is bound. */
  has(key: ServiceKey): boolean {
    return this.#bindings.has(key);
  }

  /**
   * Returns the service bound to a key.
   *
   * @throws `E_UNKNOWN_SERVICE` if nothing is bound, naming similar keys; `E_CIRCULAR_SERVICE` if services depend on each
   *   other in a circle
   */
  make<K extends ServiceKey>(key: K): Services[K] {
    const binding = this.#bindings.get(key);
    if (binding === undefined) {
      const near = suggestion(key, this.#bindings.keys());
      throw new AshlarError(
        "E_UNKNOWN_SERVICE",
        `Nothing is bound to "${key}". ${near} Is the provider that binds it listed in PROVIDERS?`,
      );
    }
    if (binding.instance !== undefined) return binding.instance.value as Services[K];
    if (this.#underway.has(key)) {
      const circle = [...this.#underway, key].join(" → ");
      throw new AshlarError("E_CIRCULAR_SERVICE", `Circular dependency: ${circle}.`);
    }
    this.#underway.add(key);
    try {
      const value = binding.make(this);
      if (binding.shared) binding.instance = { value };
      return value as Services[K];
    } finally {
      this.#underway.delete(key);
    }
  }
}
