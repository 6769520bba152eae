import type { Application } from "../boot/index.ts";
import type { CapturedMail, Mailer, MailMatch } from "../mail/index.ts";
import { failure } from "./failure.ts";

/** The mails that an application sent since the capture began. Each method waits for queued mails. */
export class MailCapture {
  readonly #application: Application;
  readonly #mailer: Mailer;

  /** @internal Use `captureMail`. */
  constructor(application: Application) {
    this.#application = application;
    this.#mailer = application.container.make("mail");
    this.clear();
  }

  /** Returns every mail so far, oldest first. */
  async all(): Promise<readonly CapturedMail[]> {
    await this.#settled();
    return this.#mailer.captured;
  }

  /**
   * Asserts that a mail was sent.
   *
   * @param match the mailable's class, or a function that reports whether a mail is the expected one
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

  /** Event listeners send mails too, and so do background jobs. */
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
 * Captures the mails of an application, which are kept in memory in tests; earlier mails are forgotten.
 *
 * ```ts
 * const mail = captureMail(application);
 * const person = { name: "Grace", email: "grace@example.com", password, password_confirmation: password };
 * await client.submit(await client.get("/register"), person);
 * const sent = await mail.assertSent(VerifyEmailMail);
 * await client.get(linksIn(sent)[0]!);
 * ```
 *
 * @throws `E_UNKNOWN_SERVICE` in an application without `MailProvider`; `E_INVALID_CONFIGURATION` if mails are not
 *   kept in memory
 */
export function captureMail(application: Application): MailCapture {
  return new MailCapture(application);
}

/** Returns the links in the text of a mail, in order. */
export function linksIn({ text }: CapturedMail): string[] {
  // A period or a bracket after a link belongs to the sentence.
  return [...text.matchAll(/\bhttps?:\/\/[^\s<>"]+/g)].map(([link]) => link.replace(/[.,;:!?)\]]+$/, ""));
}
