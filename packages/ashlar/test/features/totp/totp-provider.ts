import { join } from "node:path";
import { type FeatureCommand, Provider } from "ashlar";
import { declareProof } from "ashlar/auth";
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
  static override readonly commands: readonly FeatureCommand[] = [
    {
      name: "totp:install",
      description: "Adds the table and the pages of authenticator apps.",
      load: () => import("./install-command.ts"),
    },
  ];

  override register(): void {
    const { container, messages } = this.application;
    messages.declare(MESSAGES);
    container.singleton("totp", () => this.#make());
    declareProof(
      this.application,
      totpProof(() => container.make("totp")),
    );
  }

  override boot(): void {
    const { container } = this.application;
    container.make("views").mount("totp", join(import.meta.dirname, "views"));
    this.application.contextProperty("totp", () => container.make("totp"));
  }

  #make(): Totp {
    const { container, settings } = this.application;
    const guards = container.make("auth");
    const guard = guards.defaultName;
    const users = guards.usersOf(guard);
    const sealer = new Sealer(settings.key, SECRETS, { previousSecrets: settings.previousKeys });
    return new Totp({ database: container.make("database"), guard, users, sealer });
  }
}
