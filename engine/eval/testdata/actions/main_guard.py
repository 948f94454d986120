def normalize(name: str) -> str:
    """Lower-case a name and replace spaces with underscores."""
    return name.strip().lower().replace(" ", "_")


def main() -> None:
    names = ["  Alice Smith", "BOB", "Carol  Jones "]
    for n in names:
        print(normalize(n))


if __name__ == "__main__":
    main()
