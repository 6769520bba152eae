import type { Events } from "../events/index.ts";
import type { Background, Logger } from "../kernel/index.ts";
import { AshlarError, currentDate } from "../support/index.ts";
import { type DeliveryFailure, deliveryFailure } from "./delivery-failure.ts";
import { type MailAddress, type MailRecipient, mailAddresses } from "./mail-address.ts";
import { type MailComposer, requireRecipient } from "./mail-composer.ts";
import { type MailMessage, recipientsOf } from "./mail-message.ts";
import type { MailTransport } from "./mail-transport.ts";
import type { Mailable } from "./mailable.ts";
import { type CapturedMail, failure, type MailMatch, MemoryTransport } from "./memory-transport.ts";
import { RetryQueue } from "./retry-queue.ts";
import type { RetrySettings } from "./settings.ts";
import "./events.ts";

/** @internal What a mailer is made of. */
export interface MailerParts {
  readonly composer: MailComposer;
  readonly transport: MailTransport;
  readonly retry: RetrySettings;
  readonly logger: Logger;
  /** The application's: a job may queue mails. */
  readonly background: Background;
  /** `null` where the application has no events. */
  readonly events: Events | null;
}

/** A mail that is to be sent, maybe for the second time. */
interface Task {
  readonly mailable: Mailable;
  readonly to: readonly MailAddress[];
  /** Composed at the first try. Every further one sends the same, so that a mail that came twice can be told. */
  message: MailMessage | null;
}

/** How many queued mails are sent at once, unless the transport says otherwise. */
const CONCURRENCY = 5;
const MAX_PAUSE_MS = 60_000;

/** Sends mails: the container's key `mail`. */
export class Mailer {
  readonly #parts: MailerParts;
  readonly #queue: RetryQueue<Task>;
  readonly #sending = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  #closed = false;

  /** @internal Made by `MailProvider`. */
  constructor(parts: MailerParts) {
    this.#parts = parts;
    this.#queue = new RetryQueue({
      concurrency: parts.transport.concurrency ?? CONCURRENCY,
      run: (task, signal) => this.#deliver(task, signal),
      again: (task, error, attempts) => this.#again(task, error, attempts),
    });
  }

  /**
   * Sends a mail now. Whoever waits for it waits for the server too; `queue` is for answers that should not.
   *
   * @param to recipients besides those of the mailable
   * @throws `E_MAIL_NOT_SENT` where the server does not take it; `E_INVALID_MAIL` and `E_VIEW` where it cannot be composed;
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
   * Sends a mail soon, after the answer that is being made has left. Where the server does not take it, it is tried again, with
   * growing pauses; what fails for good is logged. A shutdown waits for what is queued.
   *
   * The mail is composed when its turn comes, after the answer: what the mailable refers to is read then. The queue is in memory, so a
   * process that is killed takes it along.
   *
   * @param to recipients besides those of the mailable
   * @throws `E_INVALID_MAIL` where there is no recipient, or one that is no address; `E_SHUTTING_DOWN`
   */
  queue(mailable: Mailable, to: MailRecipient | readonly MailRecipient[] = []): void {
    this.#queue.add(this.#task(mailable, to));
  }

  /** Resolves once everything that is queued has been sent, or has failed for good. For tests. */
  async settled(): Promise<void> {
    await this.#parts.background.settled();
    await this.#queue.settled();
  }

  /**
   * The mails sent so far, the oldest first, where they are kept in memory, as in tests. A queued mail is among them once
   * `settled()` has resolved.
   *
   * @throws `E_INVALID_CONFIGURATION` where mails are not kept in memory
   */
  get captured(): readonly CapturedMail[] {
    return this.#memory.captured;
  }

  /** Forgets the captured mails. */
  clear(): void {
    this.#memory.clear();
  }

  /**
   * Asserts that a mail was sent.
   *
   * @param match the mailable's class, or a function that tells whether a mail is the one
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
   * @internal Sends what is queued, and takes no further mail.
   *
   * @param seconds how long it takes at most; what is left then is logged
   */
  async close(seconds: number): Promise<void> {
    this.#closed = true;
    const sending = Promise.allSettled(this.#sending);
    const timer = setTimeout(() => this.#abort.abort(), seconds * 1000);
    const left = await this.#queue.drain(seconds);
    for (const task of left)
      this.#failed(task, { reason: "The application was shut down.", isPermanent: true }, "The mail is lost.");
    await sending;
    clearTimeout(timer);
    await this.#parts.transport.close();
  }

  #task(mailable: Mailable, to: MailRecipient | readonly MailRecipient[]): Task {
    if (this.#closed)
      throw new AshlarError("E_SHUTTING_DOWN", "No mail is sent any more: the application is shutting down.");
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
    const { composer, transport, logger, events } = this.#parts;
    task.message ??= await composer.compose(task.mailable, task.to);
    const { message } = task;
    const refused = (await transport.deliver(message, { signal, mailable: task.mailable })) ?? [];
    if (refused.length > 0) {
      logger.warn(
        { mailable: message.mailable, recipients: refused },
        "A mail was refused for some of its recipients.",
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
    const { retry, logger } = this.#parts;
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
    this.#parts.logger.error(details, message);
    this.#announceFailure(task, reason);
  }

  #announceFailure(task: Task, reason: string): void {
    void this.#parts.events?.emit("mail.failed", { time: currentDate(), ...this.#account(task), reason });
  }

  /** What may be told of a mail. Its subject and its content may hold what logs somebody in. */
  #account({ mailable, to }: Task): { readonly mailable: string; readonly recipients: readonly string[] } {
    const envelope = mailable.envelope();
    return {
      mailable: mailable.constructor.name,
      recipients: recipientsOf({ ...envelope, to: [...envelope.to, ...to] }),
    };
  }

  get #memory(): MemoryTransport {
    const { transport } = this.#parts;
    if (transport instanceof MemoryTransport) return transport;
    throw new AshlarError("E_INVALID_CONFIGURATION", 'Mails are not captured here: MAIL.transport is not "memory".');
  }

  #requireSettled(assertion: (...args: never[]) => unknown): void {
    const pending = this.#queue.pending + this.#parts.background.pending;
    if (pending === 0) return;
    throw failure(`${pending} queued mails are not sent yet: await mailer.settled() first.`, assertion);
  }
}
