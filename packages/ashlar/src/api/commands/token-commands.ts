import type { FeatureCommand } from "../../boot/index.ts";

const DRIVER = "  --driver <name>       the entry of DRIVERS; default: the first with personal tokens";

/** The commands for personal tokens. */
export const TOKEN_COMMANDS: readonly FeatureCommand[] = [
  {
    name: "tokens:issue",
    description: "Creates a personal token for a user, and prints it: tokens:issue --user 12 --name deploy --days 90.",
    help: [
      "  --user <id>           the user's primary key",
      "  --name <name>         what the user knows the token by",
      "  --abilities <a,b> the token's abilities; required if config/api.ts lists ABILITIES",
      "  --days <number>       for how many days it is valid; required unless maximumDays is null",
      DRIVER,
    ].join("\n"),
    load: async () => ({ run: (await import("./personal-token-commands.ts")).issue }),
  },
  {
    name: "tokens:list",
    description: "Lists the personal tokens of a user: tokens:list --user 12.",
    help: `  --user <id>           the user's primary key\n${DRIVER}`,
    load: async () => ({ run: (await import("./personal-token-commands.ts")).list }),
  },
  {
    name: "tokens:revoke",
    description: "Revokes a personal token, with the id that tokens:list shows: tokens:revoke 34.",
    help: `  <id>                  the token's id\n${DRIVER}`,
    load: async () => ({ run: (await import("./personal-token-commands.ts")).revoke }),
  },
];
