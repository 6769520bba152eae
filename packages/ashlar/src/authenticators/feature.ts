import { declareFeature, type Feature } from "../boot/index.ts";
import { Authenticators } from "./authenticators.ts";
import { AUTHENTICATORS_TABLE } from "./authenticators-table.ts";
import "./authenticator-kind.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** What users prove themselves with, other than passwords. */
    authenticators: Authenticators;
  }
}

/** The table of authenticators. Every provider with a kind of authenticator includes it. */
export const AUTHENTICATORS: Feature = declareFeature({
  name: "authenticators",
  services: { authenticators: (application) => new Authenticators(application) },
  accountSections: ({ container }) => container.make("authenticators").sections,
  commands: [
    {
      name: "authenticators:import",
      description: "Stores second factors and passkeys of another system, one JSON object per line.",
      help: [
        "  <file>            the lines, or - for standard input",
        "  --guard <name>    whose users they are; default: the default guard",
        "  --dry-run         store nothing, and print what would be stored",
      ].join("\n"),
      load: () => import("./commands/authenticators-import.ts"),
    },
  ],
  tables: {
    [AUTHENTICATORS_TABLE]: {
      columns: [
        ...["id", "user_id", "guard", "access_epoch", "created_at", "last_used_at", "expires_at"],
        ...["kind", "name", "handle", "data", "counter"],
      ],
      pruned: "trusted devices that have expired",
      installedBy: "auth --passkeys",
    },
  },
});
