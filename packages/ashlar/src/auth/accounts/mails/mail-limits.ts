import type { Container } from "../../../kernel/index.ts";
import { accountDigest, type LimitName } from "../../../throttle/index.ts";

/**
 * Limits the mails that strangers can trigger, by recipient. Several models may have accounts with the same address.
 */
export class MailLimits {
  readonly #container: Container;

  /** @param container the container, with the application's limits if it has any */
  constructor(container: Container) {
    this.#container = container;
  }

  /**
   * Counts a mail.
   *
   * @param limit the name of the limit
   * @returns whether it may be sent
   */
  async allows(limit: LimitName, guard: string, email: string): Promise<boolean> {
    if (!this.#container.has("throttle")) return true;
    const { allowed, buckets } = await this.#container.make("throttle").consume(limit, { account: email });
    if (buckets.some(({ isFirstRefusal }) => isFirstRefusal)) {
      const dropped = { guard, limit, account: accountDigest(email) };
      const sentence = "Mails to an address are dropped: there were too many under this limit.";
      this.#container.make("logger").warn(dropped, sentence);
    }
    return allowed;
  }
}
