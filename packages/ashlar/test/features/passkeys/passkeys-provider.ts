import { join } from "node:path";
import { type Application, declareFeature, type Feature, Provider } from "ashlar";
import type {} from "ashlar/auth";
import type {} from "ashlar/database";
import { declareKeyPurpose, Signer } from "ashlar/security";
import type {} from "ashlar/session";
import type {} from "ashlar/throttle";
import type {} from "ashlar/views";
import { Challenges } from "./challenges.ts";
import { MESSAGES } from "./messages.ts";
import { passkeyProof } from "./passkey-proof.ts";
import { Passkeys } from "./passkeys.ts";

const CHALLENGE = declareKeyPurpose("own-passkey-challenge");

declare module "ashlar" {
  interface HttpContext {
    /** The passkeys of users. */
    readonly passkeys: Passkeys;
  }
  interface Services {
    /** The passkeys of users. */
    passkeys: Passkeys;
  }
}

declare module "ashlar/throttle" {
  interface Limits {
    passkeys: true;
  }
}

/** Adds passkeys to an application. */
export class PasskeysProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "passkeys",
    messages: { english: MESSAGES },
    services: { passkeys: createPasskeys },
    context: { passkeys: (_context, { container }) => container.make("passkeys") },
    proofs: { passkey: ({ container }) => passkeyProof(() => container.make("passkeys")) },
    limits: {
      passkeys: {
        buckets: [
          { by: ["account", "address"], attempts: 5, windowSeconds: 300 },
          { by: ["address"], attempts: 100, windowSeconds: 900 },
        ],
      },
    },
    keyPurposes: [CHALLENGE],
    tables: {
      passkeys: {
        columns: ["name", "credential_id", "public_key", "counter"],
        pruned: null,
        installedBy: "passkeys:install",
      },
    },
    views: { passkeys: join(import.meta.dirname, "views") },
    routes: ["PasskeysController.routes", "PasskeyLoginController.routes"],
    commands: [
      {
        name: "passkeys:install",
        description: "Adds the table and the pages of passkeys.",
        load: () => import("./install-command.ts"),
      },
    ],
  });
}

function createPasskeys({ container, settings }: Application): Passkeys {
  const guards = container.make("auth");
  const guard = guards.defaultName;
  const signer = new Signer(settings.key, CHALLENGE, { previousSecrets: settings.previousKeys });
  const parts = { guard, users: guards.usersOf(guard), challenges: new Challenges(signer) };
  return new Passkeys({ database: container.make("database"), ...parts });
}
