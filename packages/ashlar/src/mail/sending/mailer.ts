import type { Background } from "../../kernel/index.ts";
import { AshlarError, afterCommit, type Complete, UnitOfWork } from "../../support/index.ts";
import type { MailComposer } from "../composing/mail-composer.ts";
import type { Mailable } from "../composing/mailable.ts";
import type { MailRecipient } from "../message/mail-address.ts";
import type { Outbox, PromisedWork } from "../outbox/outbox.ts";
import { OutboxCounts } from "../outbox/outbox-counts.ts";
import { type DeliveryFailure, deliveryFailure } from "../transports/delivery-failure.ts";
import type { MailTransport } from "../transports/mail-transport.ts";
import { type CapturedMail, failure, type MailMatch, MemoryTransport } from "../transports/memory-transport.ts";
import type { MailDelivery } from "./mail-delivery.ts";
import { accountOf, type MailTask, mailTask, type QueueOptions } from "./mail-task.ts";
import { RetryQueue, type RetrySettings } from "./retry-queue.ts";
import "../errors.ts";
import "../../http/index.ts";

/** @internal The dependencies of a mailer. */
export interface MailerDependencies {
  readonly composer: MailComposer;
  readonly transport: MailTransport;
  readonly delivery: MailDelivery;
  readonly retry: Complete<RetrySettings>;
  /** The application's background jobs, which may queue mails. */
  readonly background: Background;
  /** Finds the outbox, which exists only once its table does; `null` if mails always wait in memory. */
  readonly findOutbox: ((promises: ReadonlyMap<string, PromisedWork>) => Promise<Outbox | null>) | null;
}

const MAX_PAUSE_MS = 60_000;

/** Sends mails: the container's key `mail`. */
export class Mailer {
  readonly #dependencies: MailerDependencies;
  /** The queue for mails that don't wait in the outbox. */
  readonly #queue: RetryQueue<MailTask>;
  readonly #sending = new Set<Promise<void>>();
  /** Mails that are being composed and stored. */
  readonly #writing = new Set<Promise<void>>();
  readonly #promises = new Map<string, PromisedWork>();
  readonly #abort = new AbortController();
  #outbox: Outbox | null = null;
  #finding: Promise<Outbox | null> | null = null;
  #closed = false;

  /** @internal The contents of the outbox, for statistics. */
  readonly outboxCounts: OutboxCounts = new OutboxCounts(() => this.outbox());

  /** @internal Created by `MailProvider`. */
  constructor(dependencies: MailerDependencies) {
    this.#dependencies = dependencies;
    this.#queue = new RetryQueue({
      concurrency: dependencies.delivery.concurrency,
      priority: (task) => task.priority,
      run: (task, signal) => this.#deliver(task, signal),
      again: (task, error, attempts) => this.#again(task, error, attempts),
    });
  }

  /**
   * Sends a mail now, and waits for the mail server; to respond without waiting, use `queue`. In a database
   * transaction, the mail is sent before the commit.
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
   * retried with growing pauses; permanent failures are logged.
   *
   * If the application has a database with the table `mail_outbox`, the mail is composed now, and stored there until it
   * is sent, so it survives crashes and restarts. In a database transaction, it is stored as part of it, and sent only
   * if the transaction is committed. Await the promise before you respond: once a mail is stored, it is sent at least
   * once.
   *
   * Otherwise, the mail is composed after the response and waits in memory. A shutdown waits for it, but it is lost if
   * the process is killed.
   *
   * Security: storing the mail adds to the response time. If only some visitors get a mail, and the response must not reveal
   * who, use `accounts`, which stores a promise for every visitor.
   *
   * @param to recipients in addition to the mailable's own
   * @param options `{ bulk: true }` for one of many mails that no one waits for: it is sent after all others
   * @returns resolves when the mail is stored; rejects if it can't be. A mail that can't be composed is logged
   * @throws `E_INVALID_MAIL` if there is no recipient, or an invalid one; `E_SHUTTING_DOWN`
   */
  queue(
    mailable: Mailable,
    to: MailRecipient | readonly MailRecipient[] = [],
    options: QueueOptions = {},
  ): Promise<void> {
    const task = this.#task(mailable, to, options);
    if (this.#dependencies.findOutbox === null) {
      afterCommit(() => this.#queue.add(task));
      return Promise.resolve();
    }
    const writing = this.#write(task).finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    UnitOfWork.current?.awaitBeforeCommit(writing);
    // A caller that doesn't wait finds the failure in the log.
    writing.catch(() => {});
    return writing;
  }

  /**
   * @internal Promises work that may lead to mails. It runs after the response, in another process if this one dies in
   * the meantime. Without an outbox, it is a background job.
   *
   * @param name the work's name, as passed to {@link keepPromises}
   * @param title a description for the log
   * @param data the data that another process needs to run the work; any value that a structured clone can hold
   * @param work runs the work in this process
   */
  async promise(name: string, title: string, data: unknown, work: () => Promise<void>): Promise<void> {
    const outbox = await this.outbox();
    if (outbox === null) this.#dependencies.background.runUnpredictably(title, work);
    else await outbox.promise(name, title, data, work);
  }

  /** @internal Declares how another process runs promised work. */
  keepPromises(name: string, work: PromisedWork): void {
    this.#promises.set(name, work);
  }

  /** @internal The outbox; `null` if mails wait in memory. */
  async outbox(): Promise<Outbox | null> {
    const { findOutbox } = this.#dependencies;
    if (this.#outbox !== null || findOutbox === null) return this.#outbox;
    this.#finding ??= findOutbox(this.#promises).finally(() => {
      // A migration may create the table while the application runs.
      this.#finding = null;
    });
    this.#outbox = await this.#finding;
    return this.#outbox;
  }

  /** How many queued mails have neither been sent nor permanently failed. */
  get pending(): number {
    return this.#queue.pending;
  }

  /**
   * Resolves once every queued mail has been sent or has permanently failed. Doesn't wait for mails that are waiting in
   * the outbox for another attempt. For tests.
   */
  async settled(): Promise<void> {
    const { background } = this.#dependencies;
    do {
      await background.settled();
      await Promise.allSettled(this.#writing);
      await this.#queue.settled();
      await this.#outbox?.settled();
    } while (this.#pending > 0);
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
   * @internal Checks that the transport can connect.
   *
   * @returns `false` if it has nothing to connect to
   * @throws an error with the reason if it can't connect
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
   * @param seconds the time limit; mails left after that stay in the outbox, or are logged
   * @returns how many mails are lost
   */
  async close(seconds: number): Promise<number> {
    this.#closed = true;
    const sending = Promise.allSettled(this.#sending);
    const timer = setTimeout(() => this.#abort.abort(), seconds * 1000);
    await Promise.allSettled(this.#writing);
    const [left] = await Promise.all([this.#queue.drain(seconds), this.#outbox?.close(seconds)]);
    for (const task of left)
      this.#failed(task, { reason: "The application was shut down.", isPermanent: true }, "The mail was lost.");
    await sending;
    clearTimeout(timer);
    await this.#dependencies.transport.close();
    return left.length;
  }

  async #write(task: MailTask): Promise<void> {
    const unit = UnitOfWork.current;
    try {
      const outbox = await this.outbox();
      if (outbox !== null) await this.#compose(task);
      // The caller didn't wait, and the transaction has been rolled back in the meantime. Further statements would run
      // outside of it.
      if (unit?.isOpen === false) return;
      if (outbox === null) afterCommit(() => this.#queue.add(task));
      else if (task.message !== null) await outbox.add(task.message, task.mailable, task.priority, task.account);
    } catch (error) {
      // In a transaction, no mail is lost: the changes that it is about are rolled back too, and the caller gets the
      // error.
      if (unit === null)
        this.#failed(task, { reason: "It could not be stored in the outbox.", isPermanent: true }, "A mail was lost.");
      throw error;
    }
  }

  /** Composes a mail. A failure is only logged, because a broken mail must not undo the changes that it is about. */
  async #compose(task: MailTask): Promise<void> {
    try {
      task.message = await task.compose();
    } catch (error) {
      this.#failed(task, this.#failure(task, error), "A mail could not be sent.", 1);
    }
  }

  #task(mailable: Mailable, to: MailRecipient | readonly MailRecipient[], options: QueueOptions = {}): MailTask {
    if (this.#closed)
      throw new AshlarError("E_SHUTTING_DOWN", "The mail was not sent: the application is shutting down.");
    return mailTask(this.#dependencies.composer, mailable, to, options);
  }

  async #send(task: MailTask): Promise<void> {
    try {
      await this.#deliver(task, this.#abort.signal);
    } catch (error) {
      const { reason } = this.#failure(task, error);
      this.#dependencies.delivery.announceFailure(accountOf(task), reason);
      if (error instanceof AshlarError || task.message === null) throw error;
      throw new AshlarError("E_MAIL_NOT_SENT", undefined, { cause: new Error(reason) });
    }
  }

  async #deliver(task: MailTask, signal: AbortSignal): Promise<void> {
    const { delivery } = this.#dependencies;
    task.message ??= await task.compose();
    await delivery.deliver(task.message, task.mailable, signal);
  }

  #again(task: MailTask, error: unknown, attempts: number): number | null {
    const outcome = this.#failure(task, error);
    const { retry, delivery } = this.#dependencies;
    if (outcome.isPermanent || attempts >= retry.attempts) {
      this.#failed(task, outcome, "A mail could not be sent.", attempts);
      return null;
    }
    const pause = Math.min(retry.delaySeconds * 1000 * 2 ** (attempts - 1), MAX_PAUSE_MS);
    delivery.logPostponed(accountOf(task), outcome.reason, attempts, pause);
    return pause;
  }

  #failure({ message }: MailTask, error: unknown): DeliveryFailure {
    return deliveryFailure(error, message === null ? "composing" : "delivering");
  }

  #failed(task: MailTask, outcome: DeliveryFailure, message: string, attempts?: number): void {
    this.#dependencies.delivery.giveUp(accountOf(task), outcome, message, attempts);
  }

  /** How many mails, and jobs that may queue some, are unfinished. */
  get #pending(): number {
    const { background } = this.#dependencies;
    return background.pending + this.#writing.size + this.#queue.pending + (this.#outbox?.pending ?? 0);
  }

  get #memory(): MemoryTransport {
    const { transport } = this.#dependencies;
    if (transport instanceof MemoryTransport) return transport;
    throw new AshlarError("E_INVALID_CONFIGURATION", 'Mails are not captured here: MAIL.transport is not "memory".');
  }

  #requireSettled(assertion: (...args: never[]) => unknown): void {
    const pending = this.#pending;
    if (pending === 0) return;
    throw failure(`Mails still in the queue: ${pending}. Call await mailer.settled() first.`, assertion);
  }
}
