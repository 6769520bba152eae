import type { Events } from "../events/index.ts";
import type { Background, Logger } from "../kernel/index.ts";
import { AshlarError, type Complete, currentDate } from "../support/index.ts";
import { type DeliveryFailure, deliveryFailure } from "./delivery-failure.ts";
import type {} from "./events.ts";
import { type MailAddress, type MailRecipient, mailAddresses } from "./mail-address.ts";
import { type MailComposer, requireRecipient } from "./mail-composer.ts";
import { type MailMessage, recipientsOf } from "./mail-message.ts";
import type { MailTransport } from "./mail-transport.ts";
import type { Mailable } from "./mailable.ts";
import { type CapturedMail, failure, type MailMatch, MemoryTransport } from "./memory-transport.ts";
import { RetryQueue } from "./retry-queue.ts";
import type { RetrySettings } from "./settings.ts";
import "./errors.ts";
import "../http/index.ts";

/** @internal The dependencies of a mailer. */
export interface MailerDependencies {
  readonly composer: MailComposer;
  readonly transport: MailTransport;
  readonly retry: Complete<RetrySettings>;
  readonly logger: Logger;
  /** The application's: a job may queue mails. */
  readonly background: Background;
  /** `null` if the application has no events. */
  readonly events: Events | null;
}

/** A mail to send, possibly not for the first time. */
interface Task {
  readonly mailable: Mailable;
  readonly to: readonly MailAddress[];
  /** Composed at the first attempt. Later attempts send the same message, so that duplicates can be recognized. */
  message: MailMessage | null;
}

/** How many queued mails are sent at once, unless the transport sets a number. */
const CONCURRENCY = 5;
const MAX_PAUSE_MS = 60_000;

/** Sends mails: the container's key `mail`. */
export class Mailer {
  readonly #dependencies: MailerDependencies;
  readonly #queue: RetryQueue<Task>;
  readonly #sending = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  #closed = false;

  /** @internal Created by `MailProvider`. */
  constructor(dependencies: MailerDependencies) {
    this.#dependencies = dependencies;
    this.#queue = new RetryQueue({
      concurrency: dependencies.transport.concurrency ?? CONCURRENCY,
      run: (task, signal) => this.#deliver(task, signal),
      again: (task, error, attempts) => this.#again(task, error, attempts),
    });
  }

  /**
   * Sends a mail now. The caller waits for the mail server; to respond without waiting, use `queue`.
   *
   * @param to recipients in addition to the mailable's own
   * @throws `E_MAIL_NOT_SENT` if the server does not accept it; `E_INVALID_MAIL` and `E_VIEW` if it cannot be composed;
   * `E_SHUTTING_DOWN`
   */
  async send(mailable: Mailable, to: MailRecipient | readonly MailRecipient[] = []): Promise<void> {
    const sending = this.#send(this.#task(mailable, to));
    this.#sending.add(sending);
    try {
      await sending;
    } finally {
      this.#sending.delete(sending);
    }
  }

  /**
   * Sends a mail in the background, after the current response has been sent. If the server does not accept it, it is
   * retried with growing pauses; permanent failures are logged. A shutdown waits for queued mails.
   *
   * The mail is composed after the response, when its turn comes, so the mailable's data is read then. The queue is in
   * memory, so it is lost if the process is killed.
   *
   * @param to recipients in addition to the mailable's own
   * @throws `E_INVALID_MAIL` if there is no recipient, or an invalid one; `E_SHUTTING_DOWN`
   */
  queue(mailable: Mailable, to: MailRecipient | readonly MailRecipient[] = []): void {
    this.#queue.add(this.#task(mailable, to));
  }

  /** Resolves once every queued mail has been sent or has permanently failed. For tests. */
  async settled(): Promise<void> {
    await this.#dependencies.background.settled();
    await this.#queue.settled();
  }

  /**
   * The mails sent so far, oldest first, if they are kept in memory, as in tests. Queued mails are included once
   * `settled()` has resolved.
   *
   * @throws `E_INVALID_CONFIGURATION` if mails are not kept in memory
   */
  get captured(): readonly CapturedMail[] {
    return this.#memory.captured;
  }

  /**
   * @internal Checks whether the transport reaches its other side.
   *
   * @returns `false` if it has nothing to connect to
   * @throws why mails can't be delivered
   */
  async check(): Promise<boolean> {
    const { transport } = this.#dependencies;
    await transport.check?.();
    return transport.check !== undefined;
  }

  /** Clears the captured mails. */
  clear(): void {
    this.#memory.clear();
  }

  /**
   * Asserts that a mail was sent.
   *
   * @param match the mailable's class, or a function that returns whether a mail matches
   * @returns the first such mail
   * @throws `AssertionError`
   */
  assertSent(match: MailMatch): CapturedMail {
    this.#requireSettled(this.assertSent);
    return this.#memory.assertSent(match);
  }

  /**
   * Asserts that no mail was sent.
   *
   * @throws `AssertionError`
   */
  assertNothingSent(): void {
    this.#requireSettled(this.assertNothingSent);
    this.#memory.assertNothingSent();
  }

  /**
   * @internal Sends the queued mails and accepts no more.
   *
   * @param seconds how long it may take; mails left after that are logged
   */
  async close(seconds: number): Promise<void> {
    this.#closed = true;
    const sending = Promise.allSettled(this.#sending);
    const timer = setTimeout(() => this.#abort.abort(), seconds * 1000);
    const left = await this.#queue.drain(seconds);
    for (const task of left)
      this.#failed(task, { reason: "The application was shut down.", isPermanent: true }, "The mail was lost.");
    await sending;
    clearTimeout(timer);
    await this.#dependencies.transport.close();
  }

  #task(mailable: Mailable, to: MailRecipient | readonly MailRecipient[]): Task {
    if (this.#closed)
      throw new AshlarError("E_SHUTTING_DOWN", "The mail was not sent: the application is shutting down.");
    const task: Task = { mailable, to: mailAddresses(to, "The recipient"), message: null };
    requireRecipient(mailable, task.to);
    return task;
  }

  async #send(task: Task): Promise<void> {
    try {
      await this.#deliver(task, this.#abort.signal);
    } catch (error) {
      const { reason } = this.#failure(task, error);
      this.#announceFailure(task, reason);
      if (error instanceof AshlarError || task.message === null) throw error;
      throw new AshlarError("E_MAIL_NOT_SENT", undefined, { cause: new Error(reason) });
    }
  }

  async #deliver(task: Task, signal: AbortSignal): Promise<void> {
    const { composer, transport, logger, events } = this.#dependencies;
    task.message ??= await composer.compose(task.mailable, task.to);
    const { message } = task;
    const refused = (await transport.deliver(message, { signal, mailable: task.mailable })) ?? [];
    if (refused.length > 0) {
      logger.warn(
        { mailable: message.mailable, recipients: refused },
        "The mail server refused some recipients of a mail.",
      );
    }
    const recipients = recipientsOf(message).filter((address) => !refused.includes(address));
    void events?.emit("mail.sent", {
      time: currentDate(),
      mailable: message.mailable,
      recipients,
      messageId: message.id,
    });
  }

  #again(task: Task, error: unknown, attempts: number): number | null {
    const outcome = this.#failure(task, error);
    const { retry, logger } = this.#dependencies;
    if (outcome.isPermanent || attempts >= retry.attempts) {
      this.#failed(task, outcome, "A mail could not be sent.", attempts);
      return null;
    }
    const pause = Math.min(retry.delaySeconds * 1000 * 2 ** (attempts - 1), MAX_PAUSE_MS);
    const details = { ...this.#account(task), attempts, reason: outcome.reason, retryInSeconds: pause / 1000 };
    logger.warn(details, "A mail could not be sent yet.");
    return pause;
  }

  #failure({ message }: Task, error: unknown): DeliveryFailure {
    return deliveryFailure(error, message === null ? "composing" : "delivering");
  }

  #failed(task: Task, { reason }: DeliveryFailure, message: string, attempts?: number): void {
    const details = { ...this.#account(task), reason, ...(attempts === undefined ? {} : { attempts }) };
    this.#dependencies.logger.error(details, message);
    this.#announceFailure(task, reason);
  }

  #announceFailure(task: Task, reason: string): void {
    void this.#dependencies.events?.emit("mail.failed", { time: currentDate(), ...this.#account(task), reason });
  }

  /** What may be logged about a mail. Its subject and content may contain a link that logs a user in. */
  #account({ mailable, to }: Task): { readonly mailable: string; readonly recipients: readonly string[] } {
    const envelope = mailable.envelope();
    return {
      mailable: mailable.constructor.name,
      recipients: recipientsOf({ ...envelope, to: [...envelope.to, ...to] }),
    };
  }

  get #memory(): MemoryTransport {
    const { transport } = this.#dependencies;
    if (transport instanceof MemoryTransport) return transport;
    throw new AshlarError("E_INVALID_CONFIGURATION", 'Mails are not captured here: MAIL.transport is not "memory".');
  }

  #requireSettled(assertion: (...args: never[]) => unknown): void {
    const pending = this.#queue.pending + this.#dependencies.background.pending;
    if (pending === 0) return;
    throw failure(`Mails still in the queue: ${pending}. Call await mailer.settled() first.`, assertion);
  }
}
