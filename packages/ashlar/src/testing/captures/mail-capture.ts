import type { Application } from "../../boot/index.ts";
import type { CapturedMail, Mailer, MailMatch } from "../../mail/index.ts";
import { settle } from "../application/test-database.ts";
import { failure } from "../failure.ts";

/** The mails that an application sent since the capture began. Each method waits for queued mails. */
export class MailCapture {
  readonly #application: Application;
  readonly #mailer: Mailer;

  /** @internal Use `captureMail`. */
  constructor(application: Application) {
    this.#application = application;
    this.#mailer = application.container.make("mail");
  }

  /** Returns all mails so far, oldest first. */
  async all(): Promise<readonly CapturedMail[]> {
    await this.#settled();
    return this.#mailer.captured;
  }

  /**
   * Asserts that a mail was sent.
   *
   * @param match the mailable's class, or a function that reports whether a mail is the expected one
   * @returns the first such mail
   * @throws `AssertionError` with the mails that were sent
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
   * @throws `AssertionError` with the mails that were sent
   */
  async assertNothingSent(): Promise<void> {
    await this.#settled();
    this.#mailer.assertNothingSent();
  }

  /** Forgets all mails so far, including those that are still being sent. */
  async clear(): Promise<void> {
    await this.#settled();
    this.#mailer.clear();
  }

  /** Background jobs and event listeners send mails too, and sending a mail may cause others. */
  #settled(): Promise<void> {
    return settle(this.#application, () => this.#mailer.settled());
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
 * Captures an application's mails, which are kept in memory in tests. Forgets earlier mails, including those that are
 * still being sent.
 *
 * ```ts
 * const mail = await captureMail(application);
 * const person = { name: "Grace", email: "grace@example.com", password, password_confirmation: password };
 * await client.submit(await client.get("/register"), person);
 * const sent = await mail.assertSent(VerifyEmailMail);
 * await client.get(linksIn(sent)[0]!);
 * ```
 *
 * @throws `E_UNKNOWN_SERVICE` in an application without `MailProvider`; `E_INVALID_CONFIGURATION` if mails are not
 *   kept in memory
 */
export async function captureMail(application: Application): Promise<MailCapture> {
  const mail = new MailCapture(application);
  await mail.clear();
  return mail;
}

/** Returns the links in the text of a mail, in order. */
export function linksIn({ text }: CapturedMail): string[] {
  // A period or bracket after a link isn't part of it.
  return [...text.matchAll(/\bhttps?:\/\/[^\s<>"]+/g)].map(([link]) => link.replace(/[.,;:!?)\]]+$/, ""));
}
