import type { HttpContext } from "../../http/index.ts";

/** What scripts and apps ask for before and after a browser uses a passkey. */
export class PasskeyOptionController {
  /** POST /login/passkey/options */
  async login({ passkeys }: HttpContext): Promise<object> {
    return { data: await passkeys.loginOptions() };
  }

  /** POST /confirm_passkey/options */
  async confirm({ passkeys }: HttpContext): Promise<object> {
    return { data: { options: await passkeys.confirmationOptions() } };
  }

  /** POST /account/passkeys/options */
  async create({ passkeys }: HttpContext): Promise<object> {
    return { data: { options: await passkeys.creationOptions() } };
  }

  /** POST /register/passkey/@token/options */
  async register({ passkeys, request }: HttpContext): Promise<object> {
    return { data: { options: await passkeys.registrationOptions(request.param("token")) } };
  }

  /** POST /account/passkeys/signals */
  async signals({ passkeys }: HttpContext): Promise<object> {
    return { data: await passkeys.signals() };
  }
}
