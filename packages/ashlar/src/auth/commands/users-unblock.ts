import type { CommandContext } from "../../boot/index.ts";
import { setBlocked } from "./set-blocked.ts";

/** `users:unblock`: see {@link setBlocked}. */
export function run(context: CommandContext): Promise<void> {
  return setBlocked(context, "unblock");
}
