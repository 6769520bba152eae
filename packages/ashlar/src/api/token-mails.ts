import type { Authenticatable } from "../auth/index.ts";
import type { Container } from "../kernel/index.ts";

/** Mails a driver's users about their tokens. */
export class TokenMails {
  readonly #guard: string;
  readonly #container: Container;

  /** @param guard the name of both the driver and its guard */
  constructor(guard: string, container: Container) {
    this.#guard = guard;
    this.#container = container;
  }

  /** Queues a mail to the owner of a token, if the application sends mails and the owner has an address. */
  async queue(mail: "tokenCreated" | "tokenReused", user: Authenticatable, data: object): Promise<void> {
    const { email } = user as { readonly email?: unknown };
    if (!this.#container.has("accounts") || typeof email !== "string") return;
    const { mails } = this.#container.make("accounts");
    if (!mails.areSent) return;
    await mails.prepare();
    await mails.queue(mail, email, { user, guard: this.#guard, email, ...data } as never);
  }
}
