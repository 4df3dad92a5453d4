// A search box that filters what is below it. The key "/" goes to the first one on the page.

import { chosen, type Query, setQuery } from "../app/router";

interface SearchProps {
  readonly label: string;
  readonly value: string;
  onInput(text: string): void;
  readonly placeholder?: string;
  readonly id?: string;
}

export function Search(props: SearchProps) {
  return (
    <label class="control">
      <span>{props.label}</span>
      <input
        type="search"
        id={props.id}
        value={props.value}
        placeholder={props.placeholder}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** Whether every word of a query is somewhere in one of the texts; case does not matter. */
export function matches(query: string, ...texts: (string | null | undefined)[]): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const all = texts.map((text) => (text ?? "").toLowerCase());
  return words.every((word) => all.some((text) => text.includes(word)));
}

export function Choice(props: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  onChoose(value: string): void;
}) {
  return (
    <label class="control">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChoose(event.currentTarget.value)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A search whose words are in the address. */
export function AddressSearch(
  props: Pick<SearchProps, "label" | "placeholder" | "id"> & { name: string },
) {
  const { name, ...rest } = props;
  return (
    <Search {...rest} value={chosen(name) ?? ""} onInput={(text) => setQuery({ [name]: text })} />
  );
}

/** A choice that the address holds; its first option is the default. */
export function AddressChoice({
  label,
  name,
  options,
  also,
}: {
  label: string;
  name: string;
  options: readonly (readonly [value: string, text: string])[];
  /** What else of the address changes with it. */
  also?: Query;
}) {
  const first = options[0]?.[0] ?? "";
  const value = options.find(([each]) => each === chosen(name))?.[0] ?? first;
  return (
    <Choice
      label={label}
      value={value}
      options={options}
      onChoose={(next) => setQuery({ ...also, [name]: next === first ? null : next })}
    />
  );
}
