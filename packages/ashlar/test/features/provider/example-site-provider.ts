import { join } from "node:path";
import { type FeatureCommand, Provider } from "ashlar";
import { declareProof } from "ashlar/auth";
import type {} from "ashlar/database";
import { declareKeyPurpose, Signer } from "ashlar/security";
import type {} from "ashlar/session";
import { declareLimits } from "ashlar/throttle";
import type {} from "ashlar/views";
import { ExampleSite } from "./example-site.ts";
import { Identities } from "./identities.ts";
import { identityProof } from "./identity-proof.ts";
import { MESSAGES } from "./messages.ts";
import { Visits } from "./visits.ts";

const STATE = declareKeyPurpose("example-site-state");

declare module "ashlar" {
  interface HttpContext {
    /** The accounts that users have at example-site. */
    readonly identities: Identities;
  }
  interface Services {
    /** The accounts that users have at example-site. */
    identities: Identities;
  }
}

declare module "ashlar/throttle" {
  interface Limits {
    "example-site": true;
  }
}

/** Adds logins by an account at another site. */
export class ExampleSiteProvider extends Provider {
  static override readonly commands: readonly FeatureCommand[] = [
    {
      name: "example-site:install",
      description: "Adds the configuration, the table and the pages of accounts at example-site.",
      load: () => import("./install-command.ts"),
    },
  ];

  override register(): void {
    const { container, messages } = this.application;
    messages.declare(MESSAGES);
    container.singleton("identities", () => this.#make());
    declareProof(
      this.application,
      identityProof(() => container.make("identities")),
    );
    declareLimits(this.application, {
      "example-site": { buckets: [{ by: ["address"], attempts: 30, windowSeconds: 900 }] },
    });
  }

  override boot(): void {
    const { container } = this.application;
    container.make("views").mount("example-site", join(import.meta.dirname, "views"));
    this.application.contextProperty("identities", () => container.make("identities"));
  }

  /** The guards are known now, and a mistake in the settings fails startup. */
  override ready(): void {
    this.application.container.make("identities");
  }

  #make(): Identities {
    const { config, container, settings } = this.application;
    const guards = container.make("auth");
    const guard = guards.defaultName;
    const visits = new Visits(new Signer(settings.key, STATE, { previousSecrets: settings.previousKeys }));
    const callback = () => `${this.application.url}${this.application.router.to("example-site.callback")}`;
    const site = new ExampleSite(config, callback);
    const parts = { guard, users: guards.usersOf(guard), site, visits };
    return new Identities({ database: container.make("database"), ...parts });
  }
}
