import type { CommandContext } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { Outbox } from "../outbox/outbox.ts";

/**
 * The outbox of the application that a command runs for.
 *
 * @throws `E_COMMAND` if its mails wait in memory
 */
export async function requireOutbox({ application }: CommandContext): Promise<Outbox> {
  const { container } = await application();
  const outbox = await container.make("mail").outbox();
  if (outbox !== null) return outbox;
  const remedy = "Run npx ashlar mail:install and npx ashlar migrate, unless MAIL.outbox in config/mail.ts is off.";
  throw new AshlarError("E_COMMAND", `Mails wait in memory, so there is no outbox. ${remedy}`);
}
