/** The sentences of authenticator apps. */
export const MESSAGES = {
  "totp.title": "Authenticator app",
  "totp.label": "Six-digit code",
  "totp.missing": "Enter the code from your authenticator app.",
  "totp.wrong": "This code is not valid. Enter the one that your app shows now.",
  "totp.lead": "Add this key to your authenticator app, and enter the code that it shows.",
  "totp.turnOn": "Turn on",
  "totp.turnOff": "Turn off",
  "totp.isOn": "Logins ask for a code.",
  "totp.turnedOn": "From now on, a login asks for a code.",
  "totp.turnedOff": "Logins no longer ask for a code.",
} as const;

declare module "ashlar" {
  interface Messages extends Readonly<typeof MESSAGES> {}
}
