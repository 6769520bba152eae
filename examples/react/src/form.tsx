import { ClientError } from "ashlar/client";
import { type SubmitEvent, useId, useState } from "react";
import { sentenceFor } from "./client.ts";

/** A form field: the input's name on the server, and the attributes of `<input>`. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type?: string;
  readonly autoComplete?: string;
  readonly value?: string;
}

export type Inputs = Readonly<Record<string, string>>;

/** The fields of every form with a new password. */
export const NEW_PASSWORD: readonly Field[] = [
  { name: "password", label: "New password", type: "password", autoComplete: "new-password" },
  { name: "password_confirmation", label: "New password, again", type: "password", autoComplete: "new-password" },
];

interface FormProps {
  readonly fields: readonly Field[];
  readonly action: string;
  /** Sends the inputs. The returned text is shown as a success. */
  readonly send: (inputs: Inputs) => Promise<string | undefined>;
}

/** A form that shows the server's messages next to the inputs, or below them. */
export function Form({ fields, action, send }: FormProps) {
  const [error, setError] = useState<unknown>(null);
  const [success, setSuccess] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const errors = error instanceof ClientError ? error.fields : {};
  const isAboutFields = fields.some(({ name }) => name in errors);

  async function submit(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    const inputs = Object.fromEntries(new FormData(form)) as Inputs;
    setBusy(true);
    setError(null);
    setSuccess(undefined);
    try {
      setSuccess(await send(inputs));
      for (const input of form.querySelectorAll<HTMLInputElement>("[type=password]")) input.value = "";
    } catch (error) {
      setError(error);
    }
    setBusy(false);
  }

  return (
    <form onSubmit={submit} noValidate>
      {fields.map((field) => (
        <Input key={field.name} field={field} errors={errors[field.name] ?? []} />
      ))}
      {error !== null && !isAboutFields && (
        <p className="wrong" role="alert">
          {sentenceFor(error)}
        </p>
      )}
      {success !== undefined && (
        <p className="good" role="status">
          {success}
        </p>
      )}
      <button type="submit" disabled={isBusy}>
        {action}
      </button>
    </form>
  );
}

function Input({ field, errors }: { readonly field: Field; readonly errors: readonly string[] }) {
  const id = useId();
  const { name, label, type = "text", autoComplete, value } = field;
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        name={name}
        type={type}
        autoComplete={autoComplete}
        defaultValue={value}
        aria-invalid={errors.length > 0}
        aria-describedby={`${id}-errors`}
      />
      <div id={`${id}-errors`} aria-live="polite">
        {errors.map((error) => (
          <p key={error} className="wrong">
            {error}
          </p>
        ))}
      </div>
    </div>
  );
}
