import type { HttpContext } from "../http/index.ts";
import type { Router } from "../routing/index.ts";
import { AshlarError, ConfigurationError, declareErrors, type StatusesOf, suggestion } from "../support/index.ts";
import type { Logger } from "./logger.ts";

/** Responds to a request with a template. */
export type RenderView = (context: HttpContext, template: string, data: Readonly<Record<string, unknown>>) => unknown;

/** The services that the framework's features add to {@link Services}. An application augments `Services` itself. */
// biome-ignore lint/suspicious/noEmptyInterface: empty, because features augment it.
export interface FrameworkServices {}

/**
 * The keys of the container and their values. An application adds its own by declaration merging:
 *
 * ```ts
 * declare module "ashlar" { interface Services { clock: Clock } }
 * ```
 *
 * Providers and commands get services with `application.container.make("clock")`. For handlers, a provider adds a
 * property to the context: `application.contextProperty("clock", () => this.application.container.make("clock"))`.
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
   * The application's own compilers for route parameters: `{ year: /\d{4}/ }` for `@year:year`. Each must match a
   * complete decoded segment of at most 256 characters. They are matched by RE2, in linear time. Assertions such as
   * `(?=…)` and references such as `\1` fail startup.
   */
  "routes.compilers": Readonly<Record<string, RegExp>>;
  /** Renders the pages of `Route.view`; bound by the feature that provides views. */
  "routes.view": RenderView;
}

const CODES = {
  E_UNKNOWN_SERVICE: [500, "Nothing is bound to this container key."],
  E_CIRCULAR_SERVICE: [500, "A service depends on itself."],
  E_DUPLICATE_SERVICE: [500, "This container key is bound twice."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);

/** A container key. */
export type ServiceKey = keyof Services & string;

interface Binding {
  readonly make: (container: Container) => unknown;
  readonly shared: boolean;
  /** The name in errors of the code that bound the key, such as a provider. */
  readonly binder: string;
  instance?: { readonly value: unknown };
}

/** Contains the application's services by typed key, and creates each on first use. */
export class Container {
  readonly #bindings = new Map<string, Binding>();
  readonly #underway = new Set<string>();
  #binder = "the application";

  /**
   * @internal Sets the name of the code that makes the following bindings. The error about a key that is bound twice
   * contains it.
   */
  boundBy(binder: string): void {
    this.#binder = binder;
  }

  /**
   * Binds a value as is.
   *
   * @throws `E_DUPLICATE_SERVICE` if the key is already bound; the error names both providers
   */
  bind<K extends ServiceKey>(key: K, value: Services[K]): this {
    return this.#add(key, { make: () => value, shared: true, binder: this.#binder, instance: { value } });
  }

  /**
   * Binds a service that is created once, on first use.
   *
   * @throws `E_DUPLICATE_SERVICE` if the key is already bound; the error names both providers
   */
  singleton<K extends ServiceKey>(key: K, make: (container: Container) => Services[K]): this {
    return this.#add(key, { make, shared: true, binder: this.#binder });
  }

  /**
   * Binds a service that is created again for each use.
   *
   * @throws `E_DUPLICATE_SERVICE` if the key is already bound; the error names both providers
   */
  factory<K extends ServiceKey>(key: K, make: (container: Container) => Services[K]): this {
    return this.#add(key, { make, shared: false, binder: this.#binder });
  }

  /**
   * Replaces a service with your own, which is created once, on first use. Call it in `register()` of a provider that
   * `PROVIDERS` lists after the provider that binds the service. Code that already uses the service keeps the old one.
   *
   * ```ts
   * export class PlainPagesProvider extends Provider {
   *   override register(): void {
   *     this.application.container.replace("routes.view", () => (_context, template) => `The page ${template}`);
   *   }
   * }
   * ```
   *
   * @throws `E_UNKNOWN_SERVICE` if nothing is bound
   */
  replace<K extends ServiceKey>(key: K, make: (container: Container) => Services[K]): this {
    this.#require(key);
    this.#bindings.set(key, { make, shared: true, binder: this.#binder });
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
    const binding = this.#require(key);
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

  #require(key: string): Binding {
    const binding = this.#bindings.get(key);
    if (binding !== undefined) return binding;
    const near = suggestion(key, this.#bindings.keys());
    throw new AshlarError(
      "E_UNKNOWN_SERVICE",
      `Nothing is bound to "${key}". ${near} Is the provider that binds it listed in PROVIDERS?`,
    );
  }

  #add(key: string, binding: Binding): this {
    const other = this.#bindings.get(key);
    if (other !== undefined) {
      const problem = `the service "${key}" is already bound by ${other.binder}.`;
      const remedy = `Choose another key, or replace the service: container.replace("${key}", …).`;
      throw new ConfigurationError(binding.binder, problem, remedy, "E_DUPLICATE_SERVICE");
    }
    this.#bindings.set(key, binding);
    return this;
  }
}
