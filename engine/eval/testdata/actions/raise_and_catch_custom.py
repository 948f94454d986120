class ValidationError(Exception):
    pass

def check_age(age):
    if age < 0:
        raise ValidationError("age cannot be negative")
    if age > 150:
        raise ValidationError("age is unrealistic")
    return True

for a in [30, -1, 200]:
    try:
        check_age(a)
        print(a, "valid")
    except ValidationError as e:
        print(a, "invalid:", e)
