import type { HttpContext } from "../http/index.ts";
import type { Router } from "../routing/index.ts";
import { AshlarError, suggestion } from "../support/index.ts";
import type { Logger } from "./logger.ts";

/** Answers a request with a template. */
export type RenderView = (context: HttpContext, template: string, data: Readonly<Record<string, unknown>>) => unknown;

/** What the framework's features add to {@link Services}. An application augments `Services` itself. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that the features can fill it.
export interface FrameworkServices {}

/**
 * The keys of the container and what each holds. An application adds its own by declaration merging:
 *
 * ```ts
 * declare module "ashlar" { interface Services { clock: Clock } }
 * ```
 */
export interface Services extends FrameworkServices {
  logger: Logger;
  /** The compiled routes; there from the providers' boot on. */
  router: Router;
  /** Where the web routes file stands, relative to the application's root, without extension. */
  "routes.location": string;
  /** Where the API routes file stands, relative to the application's root, without extension. */
  "routes.api.location": string;
  /** What every path of the API routes file begins with, such as `/api`. */
  "routes.api.prefix": string;
  /** The application's own compilers for route parameters: `{ year: /\d{4}/ }` for `@year:year`. */
  "routes.compilers": Readonly<Record<string, RegExp>>;
  /** Renders the pages of `Route.view`; bound by what brings views. */
  "routes.view": RenderView;
}

/** A key of the container. */
export type ServiceKey = keyof Services & string;

interface Binding {
  readonly make: (container: Container) => unknown;
  readonly shared: boolean;
  instance?: { readonly value: unknown };
}

/** Holds the application's services by typed key, and makes each when it is first asked for. */
export class Container {
  readonly #bindings = new Map<string, Binding>();
  readonly #underway = new Set<string>();

  /** Binds a value as it stands. A later binding of the same key replaces it. */
  bind<K extends ServiceKey>(key: K, value: Services[K]): this {
    this.#bindings.set(key, { make: () => value, shared: true, instance: { value } });
    return this;
  }

  /** Binds a service that is made once, when it is first asked for. */
  singleton<K extends ServiceKey>(key: K, make: (container: Container) => Services[K]): this {
    this.#bindings.set(key, { make, shared: true });
    return this;
  }

  /** Binds a service that is made anew each time it is asked for. */
  factory<K extends ServiceKey>(key: K, make: (container: Container) => Services[K]): this {
    this.#bindings.set(key, { make, shared: false });
    return this;
  }

  /** Tells whether a key is bound. */
  has(key: ServiceKey): boolean {
    return this.#bindings.has(key);
  }

  /**
   * The service bound to a key.
   *
   * @throws `E_UNKNOWN_SERVICE` where nothing is bound, naming the near keys; `E_CIRCULAR_SERVICE` where a service
   * needs itself to be made
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
      throw new AshlarError("E_CIRCULAR_SERVICE", `A service needs itself to be made: ${circle}.`);
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
