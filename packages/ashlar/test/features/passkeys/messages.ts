/** The sentences of passkeys. */
export const MESSAGES = {
  "passkeys.title": "Passkeys",
  "passkeys.logIn": "Log in with a passkey",
  "passkeys.confirm": "Confirm with a passkey",
  "passkeys.label": "Answer of your authenticator",
  "passkeys.name": "Name",
  "passkeys.add": "Add",
  "passkeys.remove": "Remove {name}",
  "passkeys.added": "The passkey was added.",
  "passkeys.removed": "The passkey was removed.",
  "passkeys.refused": "This passkey could not be added.",
  "passkeys.foreign": "This passkey is not yours.",
  "passkeys.last": "This is your only way to log in. Set a password first.",
} as const;

declare module "ashlar" {
  interface Messages extends Readonly<typeof MESSAGES> {}
}
