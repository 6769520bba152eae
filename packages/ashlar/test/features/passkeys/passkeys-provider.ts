import { join } from "node:path";
import { type FeatureCommand, Provider } from "ashlar";
import { declareProof } from "ashlar/auth";
import type {} from "ashlar/database";
import { declareKeyPurpose, Signer } from "ashlar/security";
import type {} from "ashlar/session";
import { declareLimits } from "ashlar/throttle";
import type {} from "ashlar/views";
import { Challenges } from "./challenges.ts";
import { MESSAGES } from "./messages.ts";
import { passkeyProof } from "./passkey-proof.ts";
import { Passkeys } from "./passkeys.ts";

const CHALLENGE = declareKeyPurpose("passkey-challenge");

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
  static override readonly commands: readonly FeatureCommand[] = [
    {
      name: "passkeys:install",
      description: "Adds the table and the pages of passkeys.",
      load: () => import("./install-command.ts"),
    },
  ];

  override register(): void {
    const { container, messages } = this.application;
    messages.declare(MESSAGES);
    container.singleton("passkeys", () => this.#make());
    declareProof(
      this.application,
      passkeyProof(() => container.make("passkeys")),
    );
    declareLimits(this.application, {
      passkeys: {
        buckets: [
          { by: ["account", "address"], attempts: 5, windowSeconds: 300 },
          { by: ["address"], attempts: 100, windowSeconds: 900 },
        ],
      },
    });
  }

  override boot(): void {
    const { container } = this.application;
    container.make("views").mount("passkeys", join(import.meta.dirname, "views"));
    this.application.contextProperty("passkeys", () => container.make("passkeys"));
  }

  #make(): Passkeys {
    const { container, settings } = this.application;
    const guards = container.make("auth");
    const guard = guards.defaultName;
    const signer = new Signer(settings.key, CHALLENGE, { previousSecrets: settings.previousKeys });
    const parts = { guard, users: guards.usersOf(guard), challenges: new Challenges(signer) };
    return new Passkeys({ database: container.make("database"), ...parts });
  }
}
