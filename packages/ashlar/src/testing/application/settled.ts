import type { Application } from "../../boot/index.ts";

/**
 * Waits until no background job and no event listener of an application is at work, including those that others have
 * started in the meantime.
 *
 * @param also something else to wait for that may start some, such as the sending of mails
 */
export async function settle(
  { background, container }: Application,
  also = async (): Promise<void> => {},
): Promise<void> {
  const events = container.has("events") ? container.make("events") : null;
  do {
    await background.settled();
    await events?.settled();
    await also();
  } while (background.pending > 0 || (events?.pending ?? 0) > 0);
}
