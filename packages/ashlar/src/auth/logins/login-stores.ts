import type { Container } from "../../kernel/index.ts";
import type { LoginStore, LoginStoreSource } from "./login-store.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** The stores of each guard's logins. */
    logins: LoginStores;
  }
}

/** The stores of the logins of an application's guards. Bound to the container as `logins`. */
export class LoginStores {
  readonly #container: Container;
  /** The stores by source. Guards with the same source share a store. */
  readonly #stores = new Map<LoginStoreSource, LoginStore>();
  readonly #guards = new Map<string, LoginStore>();

  constructor(container: Container) {
    this.#container = container;
  }

  /** Assigns a store to a guard, when the application boots. */
  add(guard: string, source: LoginStoreSource): LoginStore {
    const store = this.#stores.get(source) ?? (typeof source === "function" ? source(this.#container) : source);
    this.#stores.set(source, store);
    this.#guards.set(guard, store);
    return store;
  }

  /** Reports whether a guard keeps logins. */
  has(guard: string): boolean {
    return this.#guards.has(guard);
  }

  /** The store of a guard that keeps logins. */
  of(guard: string): LoginStore {
    return this.#guards.get(guard)!;
  }

  /**
   * The store of a guard's pending logins: its own, or if it keeps no logins, another guard's; `null` if no guard has
   * one.
   */
  forPending(guard: string): LoginStore | null {
    return this.#guards.get(guard) ?? this.all[0] ?? null;
  }

  /** Prepares all stores; called when the application boots, once all guards are known. */
  async prepare(): Promise<void> {
    for (const store of this.all) await store.prepare?.();
  }

  /** Closes all stores; called when the application shuts down. */
  async close(): Promise<void> {
    await Promise.all(this.all.map(async (store) => store.close?.()));
  }

  /** All stores, without duplicates. */
  get all(): readonly LoginStore[] {
    return [...this.#stores.values()];
  }
}
