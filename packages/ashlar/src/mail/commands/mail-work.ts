import { once } from "node:events";
import type { CommandContext } from "../../boot/index.ts";
import { counted } from "../../support/index.ts";
import { requireOutbox } from "./require-outbox.ts";

/** Keeps the process alive, because polling the table doesn't. */
const LONG_MS = 2 ** 30;

/**
 * `mail:work`: sends the mails that wait in the outbox, until SIGTERM or SIGINT. Several may run at once, with or
 * without servers.
 */
export async function run(context: CommandContext): Promise<void> {
  const { print } = context;
  const outbox = await requireOutbox(context);
  const { waiting } = await outbox.counts();
  const stop = new AbortController();
  const stopped = Promise.race([once(process, "SIGTERM", stop), once(process, "SIGINT", stop)]);
  const alive = setInterval(() => {}, LONG_MS);
  outbox.start();
  print(`Sending mails, ${waiting} of them waiting. Stop with Ctrl+C.`);
  await stopped;
  stop.abort();
  clearInterval(alive);
  const left = await outbox.counts();
  print(`Stopped. ${counted(left.waiting, "mail")} waiting.`);
}
