import { AshlarError, type CommandContext } from "ashlar";

/** `invitations:url`: prints the URL that invitations link to. */
export async function run({ application, args, print }: CommandContext): Promise<void> {
  if (args.length > 0) throw new AshlarError("E_COMMAND", "invitations:url takes no arguments.");
  const { container, url } = await application();
  print(`${url} ${container.has("invitations")}`);
}
