import { join } from "node:path";
import { type Application, declareFeature, type Feature, Provider } from "ashlar";
import type {} from "ashlar/auth";
import type {} from "ashlar/database";
import { declareKeyPurpose, Sealer } from "ashlar/security";
import type {} from "ashlar/session";
import type {} from "ashlar/views";
import { MESSAGES } from "./messages.ts";
import { Totp } from "./totp.ts";
import { totpProof } from "./totp-proof.ts";

const SECRETS = declareKeyPurpose("totp");

declare module "ashlar" {
  interface HttpContext {
    /** The codes of authenticator apps. */
    readonly totp: Totp;
  }
  interface Services {
    /** The codes of authenticator apps. */
    totp: Totp;
  }
}

/** Adds codes of authenticator apps to an application, as a further step of logins. */
export class TotpProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "totp",
    messages: { english: MESSAGES },
    services: { totp: createTotp },
    context: { totp: (_context, { container }) => container.make("totp") },
    proofs: { totp: ({ container }) => totpProof(() => container.make("totp")) },
    keyPurposes: [SECRETS],
    tables: {
      totp_secrets: { columns: ["secret", "period"], pruned: null, installedBy: "totp:install" },
    },
    views: { totp: join(import.meta.dirname, "views") },
    routes: ["TotpController.routes"],
    commands: [
      {
        name: "totp:install",
        description: "Adds the table and the pages of authenticator apps.",
        load: () => import("./install-command.ts"),
      },
    ],
  });
}

function createTotp({ container, settings }: Application): Totp {
  const guards = container.make("auth");
  const guard = guards.defaultName;
  const sealer = new Sealer(settings.key, SECRETS, { previousSecrets: settings.previousKeys });
  return new Totp({ database: container.make("database"), guard, users: guards.usersOf(guard), sealer });
}
