import { join } from "node:path";
import { declareSecretNames, type FeatureCommand, Provider } from "ashlar";
import { declareAccountMails } from "ashlar/auth";
import { declareLimits } from "ashlar/throttle";
import type {} from "ashlar/views";
import { InvitationAcceptedMail } from "./invitation-accepted-mail.ts";
import { Invitations } from "./invitations.ts";

declareSecretNames("invitation_code");

declare module "ashlar/throttle" {
  interface Limits {
    invitations: true;
  }
}

declare module "ashlar" {
  interface HttpContext {
    /** Sends invitations by mail. */
    readonly invitations: Invitations;
  }
}

/** Adds invitations to an application. */
export class InvitationsProvider extends Provider {
  static override readonly commands: readonly FeatureCommand[] = [
    {
      name: "invitations:install",
      description: "Adds the configuration and the table of invitations.",
      load: () => import("./install-command.ts"),
    },
    {
      name: "invitations:url",
      description: "Prints the address that invitations lead to.",
      load: () => import("./url-command.ts"),
    },
  ];

  override register(): void {
    const { container } = this.application;
    container.singleton("invitations", () => new Invitations(this.application));
    declareAccountMails(this.application, { invitationAccepted: InvitationAcceptedMail });
    declareLimits(this.application, {
      invitations: { buckets: [{ by: ["address"], attempts: 2, windowSeconds: 3600 }] },
    });
  }

  override boot(): void {
    const { container } = this.application;
    container.make("invitations");
    container.make("views").mount("invitations", join(import.meta.dirname, "views"));
    this.application.contextProperty("invitations", () => container.make("invitations"));
  }
}
