import { type Application, AshlarError, type HttpContext, type RegisteredUser } from "ashlar";
import { queueAccountMail } from "ashlar/auth";
import { declareKeyPurpose, type KeyPurpose, Signer } from "ashlar/security";
import type { Complete } from "ashlar/settings";
import "./errors.ts";
import type {} from "./events.ts";
import { type InvitationSettings, readSettings } from "./settings.ts";

export const INVITATION: KeyPurpose = declareKeyPurpose("invitation");

declare module "ashlar" {
  interface Services {
    /** Sends invitations by mail. */
    invitations: Invitations;
  }
}

/** Sends and verifies invitations. */
export class Invitations {
  readonly #application: Application;
  readonly #settings: Complete<InvitationSettings>;
  readonly #signer: Signer;

  constructor(application: Application) {
    const { key, previousKeys: previousSecrets } = application.settings;
    this.#application = application;
    this.#settings = readSettings(application.config);
    this.#signer = new Signer(key, INVITATION, { previousSecrets });
  }

  /** Mails a link that accepts the invitation to an address. */
  async invite(email: string): Promise<void> {
    const { container, router, url } = this.#application;
    const code = this.#signer.sign(email, { expiresInSeconds: this.#settings.expiresInMinutes * 60 });
    const link = url + router.to("invitations.show", { invitation_code: code });
    await container.make("mail").queue(new this.#settings.mailable(link), email);
  }

  /**
   * The address that the route's invitation is for.
   *
   * @throws `E_INVITATION`
   */
  read({ request }: HttpContext): string {
    const email = this.#signer.verify(request.param("invitation_code") ?? "");
    if (email === null) throw new AshlarError("E_INVITATION");
    return email;
  }

  /** Tells the user of a guard that their invitation was accepted. */
  async tellInviter(user: RegisteredUser & { readonly email: string }, guard: string, invited: string): Promise<void> {
    await queueAccountMail(this.#application, "invitationAccepted", user.email, { user, guard, invited });
  }

  async accept(email: string): Promise<void> {
    await this.#application.container.make("events").emit("invitation.accepted", { email });
  }
}
