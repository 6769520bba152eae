import type { Application } from "../boot/index.ts";
import type { CapturedMail, Mailer, MailMatch } from "../mail/index.ts";
import { failure } from "./failure.ts";

/** The mails that an application sent since the capture began. Each question waits for those that are queued. */
export class MailCapture {
  readonly #application: Application;
  readonly #mailer: Mailer;

  /** @internal Use `captureMail`. */
  constructor(application: Application) {
    this.#application = application;
    this.#mailer = application.container.make("mail");
    this.clear();
  }

  /** Every mail so far, the oldest first. */
  async all(): Promise<readonly CapturedMail[]> {
    await this.#settled();
    return this.#mailer.captured;
  }

  /**
   * Asserts that a mail was sent.
   *
   * @param match the mailable's class, or a function that tells whether a mail is the one
   * @returns the first such mail
   * @throws `AssertionError` with what was sent instead
   */
  async assertSent(match: MailMatch): Promise<CapturedMail> {
    await this.#settled();
    return this.#mailer.assertSent(match);
  }

  /**
   * Asserts that no such mail was sent.
   *
   * @throws `AssertionError`
   */
  async assertNotSent(match: MailMatch): Promise<void> {
    await this.#settled();
    const found = this.#find(match);
    if (found === null) return;
    throw failure(`A mail was sent to ${found.to} that should not have been: ${found.subject}`, this.assertNotSent);
  }

  /**
   * Asserts that no mail was sent.
   *
   * @throws `AssertionError` with what was sent
   */
  async assertNothingSent(): Promise<void> {
    await this.#settled();
    this.#mailer.assertNothingSent();
  }

  /** Forgets what was sent so far. */
  clear(): void {
    this.#mailer.clear();
  }

  /** The listeners of events send mails too, and so do jobs in the background. */
  async #settled(): Promise<void> {
    const { container, background } = this.#application;
    await background.settled();
    if (container.has("events")) await container.make("events").settled();
    await this.#mailer.settled();
  }

  #find(match: MailMatch): CapturedMail | null {
    try {
      return this.#mailer.assertSent(match);
    } catch {
      return null;
    }
  }
}

/**
 * Captures the mails of an application, which keeps them in memory in tests; those sent before are forgotten.
 *
 * ```ts
 * const mail = captureMail(application);
 * const person = { name: "Grace", email: "grace@example.com", password, password_confirmation: password };
 * await client.submit(await client.get("/register"), person);
 * const sent = await mail.assertSent(VerifyEmailMail);
 * await client.get(linksIn(sent)[0]!);
 * ```
 *
 * @throws `E_UNKNOWN_SERVICE` in an application without `MailProvider`; `E_INVALID_CONFIGURATION` where mails are not
 * kept in memory
 */
export function captureMail(application: Application): MailCapture {
  return new MailCapture(application);
}

/** The links in the text of a mail, in its order. */
export function linksIn({ text }: CapturedMail): string[] {
  // A full stop or a bracket after a link is the sentence's.
  return [...text.matchAll(/\bhttps?:\/\/[^\s<>"]+/g)].map(([link]) => link.replace(/[.,;:!?)\]]+$/, ""));
}
