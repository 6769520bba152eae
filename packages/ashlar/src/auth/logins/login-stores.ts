import type { Container } from "../../kernel/index.ts";
import type { LoginStore, LoginStoreSource } from "./login-store.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** Where the logins of each guard are kept. */
    logins: LoginStores;
  }
}

/** Where the logins of an application's guards are kept. Bound to the container as `logins`. */
export class LoginStores {
  readonly #container: Container;
  /** By what they were made of: guards that name the same source share the store. */
  readonly #stores = new Map<LoginStoreSource, LoginStore>();
  readonly #guards = new Map<string, LoginStore>();

  constructor(container: Container) {
    this.#container = container;
  }

  /** Gives a guard its store, when the application boots. */
  add(guard: string, source: LoginStoreSource): LoginStore {
    const store = this.#stores.get(source) ?? (typeof source === "function" ? source(this.#container) : source);
    this.#stores.set(source, store);
    this.#guards.set(guard, store);
    return store;
  }

  /** Tells whether a guard keeps logins. */
  has(guard: string): boolean {
    return this.#guards.has(guard);
  }

  /** The store of a guard that keeps logins. */
  of(guard: string): LoginStore {
    return this.#guards.get(guard)!;
  }

  /** Where the pending logins of a guard are kept: in its store, or if it keeps no logins, in another one; `null`: nowhere. */
  forPending(guard: string): LoginStore | null {
    return this.#guards.get(guard) ?? this.all[0] ?? null;
  }

  /** All stores, each once. */
  get all(): readonly LoginStore[] {
    return [...this.#stores.values()];
  }
}
