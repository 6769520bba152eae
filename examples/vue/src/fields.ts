/** A form field: the input's name on the server, and the attributes of `<input>`. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type?: string;
  readonly autocomplete?: string;
  readonly value?: string;
}

export type Inputs = Readonly<Record<string, string>>;

export const NAME: Field = { name: "name", label: "Name", autocomplete: "name" };

export const EMAIL: Field = { name: "email", label: "Email address", type: "email", autocomplete: "username" };

/** An existing password. */
export const PASSWORD: Field = {
  name: "password",
  label: "Password",
  type: "password",
  autocomplete: "current-password",
};

/** The fields of every form with a new password. */
export const NEW_PASSWORD: readonly Field[] = [
  { name: "password", label: "New password", type: "password", autocomplete: "new-password" },
  { name: "password_confirmation", label: "New password, again", type: "password", autocomplete: "new-password" },
];
